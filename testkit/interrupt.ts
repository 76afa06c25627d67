import { setTimeout as sleep } from "node:timers/promises";

/** tsx passes on a signal that the terminal has sent as well: twice at once is not asked twice. */
const sameMs = 500;

/**
 * Aborts when the process is asked to end, with the signal's name as the reason; asked once more, the process ends at
 * once, and what it has started is killed.
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

/** Waits so long, or until the process is asked to end. */
export async function pause(ms: number, interrupt: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: interrupt }).catch(() => {});
}
