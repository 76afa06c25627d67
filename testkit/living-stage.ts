import { expect } from "vitest";
import { call } from "./call.ts";
import { ShiftedClock } from "./shifted-clock.ts";
import { type StageOptions, stageProxy } from "./stage.ts";

const lifetimeSeconds = 1_000;
/** With random() at 0.5: a refresh is due at 84 % of the lifetime, and the token counts as expired 90 s before its end. */
export const dueMs = 840_000;
export const expiredMs = 910_000;

/** A stage with one credential set, whose first token is valid for 1,000 s and has been used once; the test moves its clock. */
export async function stageLiving(options: StageOptions = {}) {
  const clock = new ShiftedClock();
  const stage = await stageProxy({
    timeouts: { tokenMs: 700 },
    oneSet: true,
    ...options,
    simulator: { tokenLifetimeSeconds: lifetimeSeconds, nowMs: () => clock.wallMs(), ...options.simulator },
    surroundings: { clock, random: () => 0.5, ...options.surroundings },
  });
  // Countersign refreshes only a token in use.
  expect((await call(stage.url)).status).toBe(200);
  /** Lets the whole lifetime of the current token pass. */
  const expire = () => clock.push(lifetimeSeconds * 1_000);
  return { ...stage, clock, expire };
}
