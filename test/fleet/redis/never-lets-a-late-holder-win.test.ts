/** Row 24: a holder that comes back after its lock has ended changes neither the newer token nor the new lock. */
import { expect, it, vi } from "vitest";
import type { Called } from "../../../testkit/call.ts";
import type { Fleet, Replica } from "../../../testkit/fleet.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { heldLock, lastTokens, playFleet, refuseNext, tokensInRedis, tokensInUse } from "./fleet-over-redis.ts";

/** The late one's own caller outwaits the stop. */
const more = "timeouts: { token: 30s, request: 40s }\nlog: { level: debug }";

/** Its token is refused once, and it is served with the one named. */
async function refresh(fleet: Fleet, replica: Replica, token: string): Promise<void> {
  refuseNext(fleet);
  expect((await replica.order()).status).toBe(200);
  expect(lastTokens(fleet, 1)).toEqual([token]);
}

interface Held {
  readonly lock: string;
  readonly answered: Promise<Called>;
  /** Lets the authorization server answer. */
  release(): void;
}

/** Its token is refused once, and it holds the lock while the authorization server does not answer. */
async function holdLock(fleet: Fleet, redis: RealRedis, replica: Replica): Promise<Held> {
  const { simulator } = fleet;
  const { tokenRequests } = simulator.counts();
  const { release } = simulator.faults.add({ host: "login", kind: "hang" });
  refuseNext(fleet);
  const answered = replica.order();
  answered.catch(() => {});
  await simulator.seen.whenTokenRequests(tokenRequests + 1);
  const lock = (await heldLock(redis)) ?? expect.unreachable();
  return { lock, answered, release };
}

it("a holder that comes back late takes the newer token, and leaves another's lock alone", async () => {
  await playFleet({ replicas: 3, more }, async (fleet, redis) => {
    const { simulator, replicas } = fleet;
    const [late = expect.unreachable(), next = expect.unreachable(), third = expect.unreachable()] = replicas;
    expect(await tokensInUse(fleet)).toEqual(Array(3).fill("token_1"));
    const storedToken = async () => redis.command("GET", (await tokensInRedis(redis))[0] ?? "");

    const lost = await holdLock(fleet, redis, late);
    late.signal("SIGSTOP");
    await vi.waitFor(async () => expect(await heldLock(redis)).toBeUndefined(), { timeout: 10_000, interval: 20 });
    await refresh(fleet, next, "token_3");
    await refresh(fleet, third, "token_3");
    const newest = await storedToken();
    const held = await holdLock(fleet, redis, third);
    expect(held.lock).not.toBe(lost.lock);

    // It wakes up with token_2 before it, which is valid, but not the newest.
    lost.release();
    await simulator.seen.whenTokenAnswers(3);
    late.signal("SIGCONT");
    expect((await lost.answered).status).toBe(200);
    expect(lastTokens(fleet, 1)).toEqual(["token_3"]);
    // Its log may come after its answer.
    await vi.waitFor(() => {
      expect(late.events("token_requested").at(-1)).toMatchObject({ result: "issued", reason: "unauthorized" });
      expect(late.events("token_adopted").at(-1)).toMatchObject({ issuedHere: false });
    });
    expect(await storedToken()).toBe(newest);
    expect(await heldLock(redis)).toBe(held.lock);

    // The third one finishes as if nothing had been, and its token becomes everybody's.
    held.release();
    expect((await held.answered).status).toBe(200);
    expect(lastTokens(fleet, 1)).toEqual(["token_4"]);
    expect(await heldLock(redis)).toBeUndefined();
    for (const replica of [late, next]) await refresh(fleet, replica, "token_4");
    await fleet.add();
    expect(await tokensInUse(fleet)).toEqual(Array(4).fill("token_4"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: 4, tokensIssued: 4, unauthorized: 0 });
  });
});
