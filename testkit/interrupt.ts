import { setTimeout as sleep } from "node:timers/promises";

/** The terminal sends a signal, and tsx passes the same signal on: two signals within this time count as one. */
const sameMs = 500;

/**
 * Aborts at the first signal to end the process, with the signal's name as the reason; a second signal ends the process at
 * once, and kills the processes that it has started.
 */
export function listenForInterrupt(): AbortSignal {
  const controller = new AbortController();
  let askedMs = Number.POSITIVE_INFINITY;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (performance.now() > askedMs + sameMs) process.exit(1);
      askedMs = Math.min(askedMs, performance.now());
      controller.abort(signal);
    });
  }
  return controller.signal;
}

/** Waits for this time, or until the process is asked to end. */
export async function pause(ms: number, interrupt: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: interrupt }).catch(() => {});
}
