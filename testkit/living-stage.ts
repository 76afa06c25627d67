import { expect } from "vitest";
import { call } from "./call.ts";
import { ShiftedClock } from "./shifted-clock.ts";
import { type StageOptions, stageProxy } from "./stage.ts";

const lifetimeSeconds = 1_000;
/** With chance at a half: due at 84 % of the life, expired 90 s before its end. */
export const dueMs = 840_000;
export const expiredMs = 910_000;

/** A stage whose first token lives 1,000 s and has been used once; its clock goes as the test says. One credential set. */
export async function stageLiving(options: StageOptions = {}) {
  const clock = new ShiftedClock();
  const stage = await stageProxy({
    timeouts: { tokenMs: 700 },
    oneSet: true,
    ...options,
    simulator: { tokenLifetimeSeconds: lifetimeSeconds, nowMs: () => clock.wallMs(), ...options.simulator },
    surroundings: { clock, random: () => 0.5, ...options.surroundings },
  });
  // Only a token in use is kept alive.
  expect((await call(stage.url)).status).toBe(200);
  /** Passes the whole life of the token at hand. */
  const expire = () => clock.push(lifetimeSeconds * 1_000);
  return { ...stage, clock, expire };
}
