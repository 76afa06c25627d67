import { constants } from "node:os";

/**
 * The kernel drops a signal to PID 1, such as a container's only process, when nobody listens for it: a pod that is
 * stopped while it starts would be waited for until its grace period is over. Ends the process until a command listens itself.
 */
export function endOnSignalsAsPidOne(): void {
  if (process.pid !== 1) return;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
    });
  }
}
