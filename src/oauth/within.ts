import type { Clock } from "../model/clock.ts";

/** The promise's value, or undefined when it takes longer than the delay. The promise itself goes on. */
export function within<Value>(clock: Clock, promise: Promise<Value>, delayMs: number): Promise<Value | undefined> {
  if (delayMs <= 0) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const cancel = clock.after(delayMs, () => resolve(undefined));
    promise.then(resolve, reject).finally(cancel);
  });
}
