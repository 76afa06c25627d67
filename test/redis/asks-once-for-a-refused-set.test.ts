/** Row 33: a set that the authorization server refuses costs one token request in 10 s over all replicas, from the start on. */
import { expect, it } from "vitest";
import { playFleet } from "./fleet-over-redis.ts";
import { print, startLoad } from "./steady-load.ts";

const replicas = 8;
const refusedPauseMs = 10_000;
const periods = 2;

it("is tried by one of eight replicas, at the start and after each pause", async () => {
  await playFleet({ replicas: 0 }, async (fleet) => {
    const { simulator } = fleet;
    simulator.changeClientSecret("blue-id", "another-secret-than-the-replicas-have");
    await Promise.all(Array.from({ length: replicas }, () => fleet.add()));
    const load = startLoad(fleet.replicas, 80);
    await load.during(periods * refusedPauseMs + 2_000);
    const { failures, sent } = await load.stop();
    expect(failures).toHaveLength(sent);
    const [first, ...rest] = simulator.seen.tokenRequests.map(({ receivedAtMs }) => receivedAtMs);
    const gapsMs = rest.map((atMs, n) => atMs - ([first, ...rest][n] ?? 0));
    for (const [n, gapMs] of gapsMs.entries()) print(`token request ${n + 2} came after, in ms`, { gapMs });
    expect(gapsMs).toHaveLength(periods);
    // The pause begins with the answer and the request's receipt lies just before it.
    for (const gapMs of gapsMs) expect(gapMs).toBeGreaterThanOrEqual(refusedPauseMs - 50);
  });
}, 300_000);
