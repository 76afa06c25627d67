/** Row 95: a token request that is never answered holds nobody up for longer than its attempt takes. */
import { setTimeout } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../../testkit/fault-proxy.ts";
import type { Fleet, FleetOptions } from "../../../testkit/fleet.ts";
import { startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { playFleet, tokensInUse } from "./fleet-over-redis.ts";
import { burst, print } from "./load.ts";

/** A replica's token requests are so far apart, whatever comes. */
const spacingMs = 1_000;
const replicas = 4;
const callersEach = 5;
/** A name that only forward proxies know, so that each replica's way to the authorization server is its own. */
const loginHost = "login.sandbox.example";

/** Orders through all replicas until each gets 200 again; when the last other answer came, and how many there were. */
async function orderUntilServed({ replicas: all }: Fleet, sinceMs: number) {
  let lost = 0;
  let lastLostMs = 0;
  const caller = async (replica: (typeof all)[number]) => {
    while ((await replica.order()).status !== 200) {
      lost += 1;
      lastLostMs = performance.now() - sinceMs;
    }
  };
  // A new caller at each replica twice a second, for longer than callers wait.
  const callers: Promise<void>[] = [];
  for (let n = 0; n < 14; n++) {
    callers.push(...all.map(caller));
    await setTimeout(500);
  }
  await Promise.all(callers);
  return { lost, lastLostMs };
}

it("a lost answer of the authorization server is over after one attempt, at all replicas", async () => {
  await playFleet({ replicas }, async (fleet) => {
    const { simulator } = fleet;
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    await setTimeout(spacingMs);
    simulator.faults.add({ host: "login", kind: "hang" });
    const revokedMs = performance.now();
    simulator.revokeAllTokens();
    const { lost, lastLostMs } = await orderUntilServed(fleet, revokedMs);
    print("one lost answer", { lost, lastLostMs });
    expect(lastLostMs).toBeLessThan(8_000);
    expect(simulator.counts().tokenRequests).toBe(3);
    expect(new Set(await tokensInUse(fleet)).size).toBe(1);
  });
});

it.each<[string, (way: FaultProxy) => void]>([
  ["swallows everything", (way) => way.toTarget.become({ blackHole: true })],
  [
    "refuses connections",
    (way) => {
      way.refuse();
      way.reset();
    },
  ],
])("a replica whose way to the authorization server %s stops no other one", async (_, cut) => {
  const proxy = await startForwardProxy();
  const options: Omit<FleetOptions, "redis"> = { replicas: 0, authUrl: `http://${loginHost}` };
  await playFleet(options, async (fleet) => {
    const { simulator } = fleet;
    proxy.hosts = { [`${loginHost}:80`]: new URL(simulator.loginUrl).port };
    const way = await startFaultProxy(proxy.url);
    const through = (url: string) => ({ environment: `egress: { proxy: "${url}" }` });
    const cutOff = await fleet.add(through(way.url));
    const sound = await Promise.all(Array.from({ length: replicas - 1 }, () => fleet.add(through(proxy.url))));
    expect(await tokensInUse(fleet)).toEqual(Array(replicas).fill("token_1"));
    cut(way);
    for (const revocation of [1, 2]) {
      await setTimeout(spacingMs);
      simulator.revokeAllTokens();
      // It is the first to want a token, and so the lock.
      const lost = cutOff.order();
      const { statuses, tookMs } = await burst(sound, callersEach);
      print(`sound replicas after revocation ${revocation}`, { tookMs });
      expect(statuses).toEqual({ 200: sound.length * callersEach });
      // Less than a connection may take (`timeouts.connect`).
      expect(tookMs).toBeLessThan(2_000);
      expect(simulator.counts().tokensIssued).toBe(1 + revocation);
      // It takes up the token of the others.
      await lost;
      await vi.waitFor(async () => expect((await cutOff.order()).status).toBe(200), { timeout: 20_000 });
    }
  });
});
