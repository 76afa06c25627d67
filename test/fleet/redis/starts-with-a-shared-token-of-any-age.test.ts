/** Row 66: a replica that starts during an outage of the authorization server uses the shared token to its leeway. */
import { describe, expect, it, vi } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { cacheKey } from "../../../src/oauth/token.ts";
import { canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { type Fleet, site, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt, openReplica } from "../../../testkit/redis-replica.ts";

const hourMs = 3_600_000;
const lifetimeMs = 24 * hourMs;
const audience = "https://api.sandbox.example";

/** The shared token that another replica was given and left in Redis. */
async function shareToken({ simulator }: Fleet, redis: RealRedis, remainingMs: number): Promise<void> {
  const set = { label: `${site}/blue`, name: "blue", clientId: "blue-id", audience };
  const key = cacheKey(`${simulator.loginUrl}/oauth/token`, { ...set, clientSecret: new Secret(canaries.blue) });
  const encryptionKeys = [new Secret(Buffer.from(tokenKey, "hex"))] as const;
  const { store } = openReplica(accessTo(nodeAt(redis.port), { encryptionKeys }));
  const secret = new Secret(simulator.plantToken("blue-id"));
  if (remainingMs > 0) await store.save(key, { secret, lifetimeMs }, lifetimeMs - remainingMs);
}

/** A replica that starts while nobody issues tokens. */
async function startWith(remainingMs: number) {
  const redis = await startRedis();
  const fleet = await startFleet({ redis, replicas: 0, more: "readiness: token" });
  await fleet.simulator.stopLogin();
  await shareToken(fleet, redis, remainingMs);
  const replica = await fleet.add();
  const readiness = async () => (await fetch(`${replica.adminUrl}/readyz`)).status;
  return { fleet, replica, readiness };
}

describe("with the authorization server down", () => {
  it.each([
    ["fresh", 23 * hourMs],
    ["due", 0.11 * lifetimeMs],
    ["in its last tenth", 2.15 * hourMs],
    // The leeway is 120 s at most.
    ["three minutes before its end", 180_000],
  ])("a shared token that is %s is adopted, serves, and is refreshed once that is possible", async (_, remainingMs) => {
    const { fleet, replica, readiness } = await startWith(remainingMs);
    await vi.waitFor(async () => expect(await readiness()).toBe(200), { timeout: 20_000, interval: 50 });
    expect(await replica.order()).toMatchObject({ status: 200 });
    expect(fleet.simulator.counts().tokensIssued).toBe(0);
    await fleet.simulator.startLogin();
    if (remainingMs >= 0.2 * lifetimeMs) return;
    const isRefreshed = async () => {
      expect(await replica.order()).toMatchObject({ status: 200 });
      expect(fleet.simulator.counts().tokensIssued).toBe(1);
    };
    await vi.waitFor(isRefreshed, { timeout: 40_000, interval: 100 });
  });

  it.each([
    ["within its leeway", 50_000],
    ["expired", 0],
  ])("a shared token that is %s is not used: a clear 503", async (_, remainingMs) => {
    const { fleet, replica, readiness } = await startWith(remainingMs);
    const detail = /the authorization server could not be reached/;
    expectFailure(await replica.order(), { status: 503, code: "token_unavailable", detail });
    expect(await readiness()).toBe(503);
    expect(fleet.simulator.counts().apiRequests).toBe(0);
  });
});
