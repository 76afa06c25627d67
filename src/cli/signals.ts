import { constants } from "node:os";

/**
 * The kernel drops a signal to PID 1, such as a container's only process, where there is no handler. Kubernetes would wait
 * for a pod that is stopped while it starts until the grace period ends. This handler ends the process until a command adds its own.
 */
export function exitOnSignalsAsPidOne(): void {
  if (process.pid !== 1) return;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
    });
  }
}

/** Resolves with the signal that asks the process to end: SIGTERM, or SIGINT from Ctrl-C. A second one exits immediately. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve(signal);
    };
    process.on("SIGTERM", stop).on("SIGINT", stop);
  });
}

/**
 * Handles SIGHUP from now on: without a handler it ends the process with every open request.
 * @returns sets what a SIGHUP does; one that came before has its effect then
 */
export function catchHangUps(): (onHangUp: () => void) => void {
  let isPending = false;
  let current = () => {
    isPending = true;
  };
  process.on("SIGHUP", () => current());
  return (onHangUp) => {
    current = onHangUp;
    if (isPending) onHangUp();
  };
}
