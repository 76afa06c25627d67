/** Row 33: a set that the authorization server refuses costs one token request in 10 s over all replicas, from the start on. */
import { expect, it } from "vitest";
import type { Fleet } from "../../../testkit/fleet.ts";
import { playFleet, tokensInUse } from "./fleet-over-redis.ts";
import { print, startLoad } from "./load.ts";

const replicas = 8;
const refusedPauseMs = 10_000;
const periods = 2;

/** That many requests for tokens since then, each so long after the one before: by the receipt, which lies just before the answer. */
function expectSpaced({ simulator }: Fleet, since: number, count: number): void {
  const receivedMs = simulator.seen.tokenRequests.slice(since).map(({ receivedAtMs }) => receivedAtMs);
  const gapsMs = receivedMs.slice(1).map((atMs, n) => atMs - (receivedMs[n] ?? 0));
  for (const [n, gapMs] of gapsMs.entries()) print(`token request ${n + 2} came after, in ms`, { gapMs });
  expect(receivedMs).toHaveLength(count);
  for (const gapMs of gapsMs) expect(gapMs).toBeGreaterThanOrEqual(refusedPauseMs - 50);
}

it("is tried by one of eight replicas, at the start and after each pause", async () => {
  await playFleet({ replicas: 0 }, async (fleet) => {
    const { simulator } = fleet;
    simulator.changeClientSecret("blue-id", "another-secret-than-the-replicas-have");
    await Promise.all(Array.from({ length: replicas }, () => fleet.add()));
    const load = startLoad(fleet.replicas, 80);
    await load.during(periods * refusedPauseMs + 2_000);
    const { failures, sent } = await load.stop();
    expect(failures).toHaveLength(sent);
    expectSpaced(fleet, 0, 1 + periods);
  });
}, 300_000);

it("is tried by one of eight replicas whose mounted secret changes to a wrong one in the same moment", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    await tokensInUse(fleet);
    const { tokenRequests } = simulator.counts();
    fleet.changeMountedSecret("another-secret-than-the-server-knows");
    const load = startLoad(fleet.replicas, 80);
    await Promise.all(fleet.replicas.map((replica) => replica.event("config_applied")));
    await load.during(periods * refusedPauseMs + 2_000);
    // The former secret's token serves.
    expect((await load.stop()).failures).toEqual([]);
    // One more where the first replica's file was looked at seconds before the last one's was active.
    const tries = simulator.counts().tokenRequests - tokenRequests;
    expectSpaced(fleet, tokenRequests, tries);
    expect(tries).toBeGreaterThanOrEqual(1 + periods);
    expect(tries).toBeLessThanOrEqual(2 + periods);
  });
}, 300_000);

it("is tried by one of eight replicas when it is deleted and its tokens are revoked", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    await tokensInUse(fleet);
    const { tokenRequests } = simulator.counts();
    simulator.changeClientSecret("blue-id", "another-secret-than-the-replicas-have");
    simulator.revokeAllTokens();
    const load = startLoad(fleet.replicas, 80);
    await load.during(refusedPauseMs + 2_000);
    const { failures, sent } = await load.stop();
    expect(failures).toHaveLength(sent);
    expectSpaced(fleet, tokenRequests, 2);
  });
}, 300_000);
