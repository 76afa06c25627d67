import { expect } from "vitest";
import { call } from "../call.ts";
import { RawConnection } from "../raw-caller.ts";
import { type RawBehaviour, startRawUpstream } from "../raw-upstream.ts";
import { ShiftedClock } from "../shifted-clock.ts";
import { type StageOptions, startStage } from "./start.ts";

/** A service whose bytes the test writes. */
export async function service(behaviour: RawBehaviour, options: StageOptions = {}) {
  const upstream = await startRawUpstream(behaviour);
  return { ...(await startStage({ baseUrl: upstream.url, ...options })), upstream };
}

/** Such a service, and one credential set, whose token may be replaced at once: otherwise two refreshes are at least a second apart. */
export async function token(behaviour: RawBehaviour, options: StageOptions = {}) {
  const staged = await service(behaviour, { oneSet: true, ...options });
  await staged.recorder.nth("token_adopted", 1);
  staged.clock.push(1_000);
  return staged;
}

/** A caller's connection whose bytes the test writes. */
export async function connection(options: StageOptions = {}) {
  const staged = await startStage(options);
  return { ...staged, connection: await RawConnection.open(staged.port) };
}

const lifetimeSeconds = 1_000;
/** With random() at 0.5: a refresh is due at 84 % of the lifetime, and the token counts as expired 90 s before its end. */
export const dueMs = 840_000;
export const expiredMs = 910_000;

/** One credential set, whose first token is valid for 1,000 s and has been used once; the test moves the clock of both sides. */
export async function living(options: StageOptions = {}) {
  const clock = new ShiftedClock();
  const staged = await startStage({
    timeouts: { tokenMs: 700 },
    oneSet: true,
    ...options,
    simulator: { tokenLifetimeSeconds: lifetimeSeconds, nowMs: () => clock.wallMs(), ...options.simulator },
    surroundings: { clock, random: () => 0.5, ...options.surroundings },
  });
  // Countersign refreshes only a token in use.
  expect((await call(staged.url)).status).toBe(200);
  /** Lets the whole lifetime of the current token pass. */
  const expire = () => clock.push(lifetimeSeconds * 1_000);
  return { ...staged, clock, expire };
}
