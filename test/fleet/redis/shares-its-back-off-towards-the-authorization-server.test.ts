/** A 429 or a refusal that one of eight replicas gets applies to all of them, from the start on. */
import { expect, it, vi } from "vitest";
import type { TokenRequest } from "../../../simulator/src/service/request-log.ts";
import { canaries } from "../../../testkit/config-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { type Fleet, greenSet, site } from "../../../testkit/fleet.ts";
import { playFleet, refuseNext, tokensInUse } from "./fleet-over-redis.ts";
import { burst, print, startLoad } from "./load.ts";

const replicas = 8;
const callersEach = 5;
const perSecond = 80;
const refusedPauseMs = 10_000;

const tooMany = (retryAfter: string) =>
  ({ host: "login", kind: "answer", status: 429, headers: { "retry-after": retryAfter } }) as const;

const requestsBy = ({ simulator }: Fleet, client: string) =>
  simulator.seen.tokenRequests.filter(({ clientId }) => clientId === client);

it("a 429 at the start of eight replicas makes one request, and all of them say when to come again", async () => {
  await playFleet({ replicas: 0 }, async (fleet) => {
    // A second request would get a token.
    fleet.simulator.faults.add(tooMany("60"));
    await Promise.all(Array.from({ length: replicas }, () => fleet.add()));
    const { answers } = await burst(fleet.replicas, callersEach);
    for (const answer of answers) {
      const detail = /the authorization server gets too many token requests \(429\)/;
      expectFailure(answer, { status: 503, code: "token_unavailable", detail });
      // Longer than any replica's own back-off.
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(30);
      expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(60);
    }
    expect(fleet.simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 0, apiRequests: 0 });
  });
});

it("a 429 leaves a valid token in use on all replicas, and a 401 meanwhile makes no second request", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    simulator.faults.add(tooMany("60"));
    for (const replica of fleet.replicas) {
      refuseNext(fleet);
      expect(await replica.order()).toMatchObject({ status: 401, text: "refused once" });
    }
    expect((await burst(fleet.replicas, callersEach)).statuses).toEqual({ 200: replicas * callersEach });
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    expect(simulator.counts()).toMatchObject({ tokenRequests: 2, tokensIssued: 1 });
  });
});

it("a refused set gives way at once on eight replicas, is tried once in 10 s, and is back when it is accepted", async () => {
  await playFleet({ replicas, moreSets: [greenSet] }, async (fleet) => {
    const { simulator } = fleet;
    expect(await clientsInUse(fleet)).toEqual(Array(replicas).fill("blue-id"));
    simulator.deleteCredentials("blue-id");
    simulator.revokeAllTokens();
    expect((await burst(fleet.replicas, callersEach)).statuses).toEqual({ 200: replicas * callersEach });
    expect(await clientsInUse(fleet)).toEqual(Array(replicas).fill("green-id"));
    await underLoad(fleet, () => whenRequested(fleet, "blue-id", 3));
    simulator.restoreCredentials("blue-id");
    await underLoad(fleet, async () => {
      await whenRequested(fleet, "blue-id", 4);
      // A replica that still uses the other set checks once a second.
      const inUse = () => fleet.sum("countersign_credential_active", { credential: `${site}/blue` });
      await vi.waitFor(async () => expect(await inUse()).toBe(replicas), { timeout: 20_000 });
    });
    expect(await clientsInUse(fleet)).toEqual(Array(replicas).fill("blue-id"));

    const [, ...tries] = requestsBy(fleet, "blue-id");
    expect(tries.map(({ refusal }) => refusal)).toEqual(["credentials_deleted", "credentials_deleted", undefined]);
    expectSpaced(tries, tries.length, refusedPauseMs);
    expect(requestsBy(fleet, "green-id")).toHaveLength(1);
  });
}, 300_000);

it("for a refused set, only a process with another secret requests a token immediately", async () => {
  const moreSets = [greenSet];
  await playFleet({ replicas: 0, moreSets }, async (fleet) => {
    const { simulator } = fleet;
    moreSets[0] = greenSet;
    simulator.deleteCredentials("blue-id");
    simulator.changeClientSecret("green-id", canaries.blue);
    const old = await Promise.all([fleet.add(), fleet.add()]);
    const detail = /^The authorization server refused/;
    for (const replica of old)
      expectFailure(await replica.order(), { status: 502, code: "credentials_refused", detail });
    expect(simulator.counts().tokenRequests).toBe(2);

    moreSets[0] = greenSet.replace("DIR/green", "DIR/blue/client-secret");
    const changed = await fleet.add();
    expect((await changed.order()).status).toBe(200);
    // The first set is the same for all, so the new process knows of its refusal without a request.
    expect(requestsBy(fleet, "blue-id")).toHaveLength(1);
    const [first, second, ...more] = requestsBy(fleet, "green-id");
    expect([first?.refusal, second?.refusal, more]).toEqual(["secret_wrong", undefined, []]);
    expect((second?.receivedAtMs ?? 0) - (first?.receivedAtMs ?? 0)).toBeLessThan(refusedPauseMs);
  });
});

const another = "another-secret-than-the-replicas-have";
const periods = 2;

it("a refused set is tried by one of eight replicas, at the start and after each pause", async () => {
  await playFleet({ replicas: 0 }, async (fleet) => {
    const { simulator } = fleet;
    simulator.changeClientSecret("blue-id", another);
    await Promise.all(Array.from({ length: replicas }, () => fleet.add()));
    const load = startLoad(fleet.replicas, perSecond);
    await load.during(periods * refusedPauseMs + 2_000);
    const { failures, sent } = await load.stop();
    expect(failures).toHaveLength(sent);
    expectSpaced(simulator.seen.tokenRequests, 1 + periods);
  });
}, 300_000);

it("a refused set is tried by one of eight replicas whose mounted secret changes to a wrong one in the same moment", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    await tokensInUse(fleet);
    const { tokenRequests } = simulator.counts();
    fleet.changeMountedSecret(another);
    const load = startLoad(fleet.replicas, perSecond);
    await Promise.all(fleet.replicas.map((replica) => replica.event("config_applied")));
    await load.during(periods * refusedPauseMs + 2_000);
    // The former secret's token serves.
    expect((await load.stop()).failures).toEqual([]);
    // One more try if the first replica read its file seconds before the last one's was active.
    const tries = simulator.seen.tokenRequests.slice(tokenRequests);
    expectSpaced(tries, tries.length);
    expect([1 + periods, 2 + periods]).toContain(tries.length);
  });
}, 300_000);

/** The client id of the token that each replica uses now. */
async function clientsInUse(fleet: Fleet): Promise<readonly (string | undefined)[]> {
  const tokens = await tokensInUse(fleet);
  const clients = new Map(fleet.simulator.seen.tokenRequests.map(({ token, clientId }) => [token, clientId]));
  return tokens.map((token) => clients.get(token));
}

/** Resolves when this client has asked for so many tokens, the first included. */
async function whenRequested(fleet: Fleet, client: string, count: number): Promise<void> {
  const options = { timeout: 3 * refusedPauseMs, interval: 20 };
  await vi.waitFor(() => expect(requestsBy(fleet, client)).toHaveLength(count), options);
}

/** Expects so many token requests, each so long after the one before, by their receipt, which is just before the answer. */
function expectSpaced(requests: readonly TokenRequest[], count: number, pauseMs = refusedPauseMs - 50): void {
  expect(requests).toHaveLength(count);
  const gapsMs = requests.slice(1).map(({ receivedAtMs }, n) => receivedAtMs - (requests[n]?.receivedAtMs ?? 0));
  for (const [n, gapMs] of gapsMs.entries()) print(`token request ${n + 2} came after, in ms`, { gapMs });
  for (const gapMs of gapsMs) expect(gapMs).toBeGreaterThanOrEqual(pauseMs);
}

/** Sends orders through all replicas meanwhile, and expects that none fails. */
async function underLoad(fleet: Fleet, play: () => Promise<unknown>): Promise<void> {
  const load = startLoad(fleet.replicas, perSecond);
  await play().finally(() => load.stop());
  expect((await load.stop()).failures).toEqual([]);
}
