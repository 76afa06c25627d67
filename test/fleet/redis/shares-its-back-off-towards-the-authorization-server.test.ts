/** Rows 33, 34: a 429 or a refusal that one of eight replicas gets counts for all of them. */
import { describe, expect, it, vi } from "vitest";
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

/** Whose token each replica uses now, by client id. */
async function clientsInUse(fleet: Fleet): Promise<readonly (string | undefined)[]> {
  const tokens = await tokensInUse(fleet);
  const clients = new Map(fleet.simulator.seen.tokenRequests.map(({ token, clientId }) => [token, clientId]));
  return tokens.map((token) => clients.get(token));
}

const requestsBy = ({ simulator }: Fleet, client: string) =>
  simulator.seen.tokenRequests.filter(({ clientId }) => clientId === client);

/** Resolves when this client has asked for so many tokens, the first included. */
async function whenRequested(fleet: Fleet, client: string, count: number): Promise<void> {
  const options = { timeout: 3 * refusedPauseMs, interval: 20 };
  await vi.waitFor(() => expect(requestsBy(fleet, client)).toHaveLength(count), options);
}

/** Orders go on through all replicas, and none of them fails. */
async function underLoad(fleet: Fleet, play: () => Promise<unknown>): Promise<void> {
  const load = startLoad(fleet.replicas, perSecond);
  await play().finally(() => load.stop());
  expect((await load.stop()).failures).toEqual([]);
}

describe("a 429 of the authorization server", () => {
  it("at the start of eight replicas makes one request, and all of them say when to come again", async () => {
    await playFleet({ replicas: 0 }, async (fleet) => {
      // A second request would be answered.
      fleet.simulator.faults.add(tooMany("60"));
      await Promise.all(Array.from({ length: replicas }, () => fleet.add()));
      const { answers } = await burst(fleet.replicas, callersEach);
      for (const answer of answers) {
        expectFailure(answer, {
          status: 503,
          code: "token_unavailable",
          detail: /the authorization server answered 429/,
        });
        // Nobody's own back-off is so long.
        expect(Number(answer.headers["retry-after"])).toBeGreaterThan(30);
        expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(60);
      }
      expect(fleet.simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 0, apiRequests: 0 });
    });
  });

  it("leaves a valid token in use on all replicas, and a 401 meanwhile makes no second request", async () => {
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
});

describe("a set that the authorization server refuses", () => {
  it("gives way at once on eight replicas, is tried once in 10 s, and is back when it is accepted", async () => {
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
        // Whoever still uses the other set looks once a second.
        const inUse = () => fleet.sum("countersign_credential_active", { credential: `${site}/blue` });
        await vi.waitFor(async () => expect(await inUse()).toBe(replicas), { timeout: 20_000 });
      });
      expect(await clientsInUse(fleet)).toEqual(Array(replicas).fill("blue-id"));

      const [, ...tries] = requestsBy(fleet, "blue-id");
      expect(tries.map(({ refusal }) => refusal)).toEqual(["credentials_deleted", "credentials_deleted", undefined]);
      const gapsMs = tries.slice(1).map(({ receivedAtMs }, n) => receivedAtMs - (tries[n]?.receivedAtMs ?? 0));
      print("between tries of the refused set, in ms", { first: gapsMs[0] ?? 0, second: gapsMs[1] ?? 0 });
      for (const gapMs of gapsMs) expect(gapMs).toBeGreaterThanOrEqual(refusedPauseMs);
      expect(requestsBy(fleet, "green-id")).toHaveLength(1);
    });
  }, 300_000);

  it("is asked for immediately by a process with another secret, and by no other", async () => {
    const moreSets = [greenSet];
    await playFleet({ replicas: 0, moreSets }, async (fleet) => {
      const { simulator } = fleet;
      moreSets[0] = greenSet;
      simulator.deleteCredentials("blue-id");
      simulator.changeClientSecret("green-id", canaries.blue);
      const old = await Promise.all([fleet.add(), fleet.add()]);
      const refused = {
        status: 502,
        code: "credentials_refused",
        detail: /^The authorization server refused/,
      } as const;
      for (const replica of old) expectFailure(await replica.order(), refused);
      expect(simulator.counts().tokenRequests).toBe(2);

      moreSets[0] = greenSet.replace("DIR/green", "DIR/blue/client-secret");
      const changed = await fleet.add();
      expect((await changed.order()).status).toBe(200);
      // The first set is the same for all of them, so the new process knows without asking.
      expect(requestsBy(fleet, "blue-id")).toHaveLength(1);
      const [first, second, ...more] = requestsBy(fleet, "green-id");
      expect([first?.refusal, second?.refusal, more]).toEqual(["secret_wrong", undefined, []]);
      expect((second?.receivedAtMs ?? 0) - (first?.receivedAtMs ?? 0)).toBeLessThan(refusedPauseMs);
    });
  });
});
