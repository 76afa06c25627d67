import { setTimeout as sleep } from "node:timers/promises";
import { formatNumber } from "./judge.ts";
import { Refusal } from "./refusal.ts";
import type { Stage } from "./stage.ts";

const lookEveryMs = 20;
/** Nothing in the story takes nearly as long as the life of a token and this. */
const patienceMs = 30_000;

/**
 * Waits, and says on a terminal what for.
 * @throws Refusal when it does not happen
 */
export async function until(stage: Stage, what: string, hasHappened: () => boolean): Promise<void> {
  const { screen, account, options } = stage;
  const sinceMs = performance.now();
  const longestMs = options.tokenLifetimeSeconds * 1_000 + patienceMs;
  while (!hasHappened()) {
    const [accident] = stage.fleet.accidents;
    if (accident !== undefined) throw new Refusal(accident);
    const waitedMs = performance.now() - sinceMs;
    if (waitedMs > longestMs) {
      throw new Refusal(`waited ${Math.round(waitedMs / 1_000)} s in vain: ${what}`);
    }
    const { requests, failed } = account.all;
    const seconds = Math.floor(waitedMs / 1_000);
    screen.status(`${formatNumber(requests)} requests, ${formatNumber(failed)} failed … ${what} (${seconds} s)`);
    await sleep(lookEveryMs);
  }
  screen.status("");
}

/** Lets the load go on until each replica has answered some more of it. */
export async function letAllServe(stage: Stage): Promise<void> {
  const before = stage.load.answered();
  const sinceMs = performance.now();
  await until(stage, "each replica serves some more", () => {
    const isServing = [...stage.load.answered()].every(([replica, count]) => count >= (before.get(replica) ?? 0) + 10);
    return isServing && performance.now() - sinceMs >= 1_000;
  });
}
