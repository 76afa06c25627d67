/**
 * Row 99 over four replicas: the authorization server is away for several lifetimes of a token. Each order is signed and accepted,
 * none waits long, and when it is back, one token serves all of them.
 */
import { expect, it } from "vitest";
import { playFleet } from "./fleet-over-redis.ts";
import { print, startLoad } from "./load.ts";

const bridged = "S1000000007";
const lifetimeSeconds = 4;
const outageMs = 3.5 * lifetimeSeconds * 1_000;
const audience = "https://api.sandbox.example";
const sites = [
  {
    identifier: bridged,
    credentials: [{ clientId: "both-id", clientSecret: "canary-client-secret-green", audience }],
    keys: [{ identifier: "K2000000007", secret: "canary-api-secret-key-one" }],
  },
];
const set = `{ name: both, clientId: both-id, clientSecret: { file: DIR/green }, audience: "${audience}" }`;
const key = "{ identifier: K2000000007, secret: { file: DIR/k1 } }";
const moreSites = `${bridged}: { auth: [oauth, hmac], bridge: hmac, credentials: [ ${set} ], keys: [ ${key} ] }`;

it("serves every order, and takes one token when the authorization server is back", async () => {
  await playFleet(
    { replicas: 4, moreSites, simulator: { sites, tokenLifetimeSeconds: lifetimeSeconds } },
    async (fleet) => {
      const { simulator, replicas } = fleet;
      const orders = replicas.map((replica) => ({ order: () => replica.order({ "countersign-site": bridged }) }));
      const load = startLoad(orders, 40);
      await load.during(1_000);
      await simulator.stopLogin();
      await load.during(outageMs);
      const signed = simulator.seen.apiRequests.slice(-40);
      expect(signed.map(({ auth, refusal }) => [auth, refusal])).toEqual(signed.map(() => ["hmac", undefined]));
      const { tokensIssued } = simulator.counts();
      await simulator.startLogin();
      const isServed = () => simulator.seen.apiRequests.slice(-8).every(({ token }) => token !== undefined);
      while (!isServed()) await load.during(100);
      expect(simulator.counts().tokensIssued).toBe(tokensIssued + 1);
      const { sent, failures, slowestMs } = await load.stop();
      const all = await fleet.sum("countersign_bridged_total");
      print("orders through an outage", { sent, signed: all, slowestMs });
      expect(failures).toEqual([]);
      expect(all).toBeGreaterThan(0.5 * (outageMs / 1_000) * 40);
      expect(slowestMs).toBeLessThan(3_000);
      const { accepted, apiRequests } = simulator.counts();
      expect(accepted).toBe(apiRequests);
      expect(apiRequests).toBe(sent);
    },
  );
});
