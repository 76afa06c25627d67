/** Resolves with the signal that asks the process to end: SIGTERM, or SIGINT from Ctrl-C. A second one ends it at once. */
export function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isAsked = false;
    const ask = (signal: NodeJS.Signals) => {
      if (isAsked) process.exit(1);
      isAsked = true;
      resolve(signal);
    };
    process.on("SIGTERM", ask).on("SIGINT", ask);
  });
}
