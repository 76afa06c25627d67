import { setTimeout as delay } from "node:timers/promises";
import { authorised, type Scene } from "./ask.ts";

/** What the authorization server and Redis do. */
export const scenesOfTokens: readonly Scene[] = [
  {
    name: "a revoked token",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      return [await authorised(lane)];
    },
  },
  {
    name: "a revoked token, and a service whose 401 comes in pieces",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 100, intervalMs: 5 });
      const reply = await authorised(lane);
      lane.simulator.faults.clear();
      return [reply];
    },
  },
  {
    name: "a revoked token, while another refreshes",
    async play(lane) {
      await lane.redis.set(lane.tokenName.replace(/token$/, "lock"), "another", "PX", 250);
      lane.simulator.revokeAllTokens();
      return await Promise.all([authorised(lane), authorised(lane)]);
    },
  },
  {
    name: "a revoked token, and an authorization server that fails at first",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "login", kind: "answer", status: 503, times: 1 });
      return [await authorised(lane), await authorised(lane)];
    },
  },
  {
    name: "a set that is refused, and the other one",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "login", kind: "answer", status: 401, clientId: "blue-id", times: 2 });
      return [await authorised(lane), await authorised(lane)];
    },
  },
  {
    name: "a token in Redis that is not ours",
    async play(lane) {
      await lane.redis.set(lane.tokenName, "not ours", "PX", 60_000);
      lane.simulator.revokeAllTokens();
      return [await authorised(lane)];
    },
  },
  {
    name: "a Redis that has lost its scripts and its connections",
    async play(lane) {
      await lane.redis.script("FLUSH");
      lane.simulator.revokeAllTokens();
      const reply = await authorised(lane);
      await lane.redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await delay(20);
      lane.simulator.revokeAllTokens();
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "a Redis that hangs",
    async play(lane) {
      lane.server.stop();
      lane.simulator.revokeAllTokens();
      const reply = await authorised(lane);
      lane.server.cont();
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "an authorization server that is slow",
    async play(lane) {
      lane.simulator.revokeAllTokens();
      lane.simulator.faults.add({ host: "login", kind: "delay", delayMs: 1_500 });
      const reply = await authorised(lane);
      await delay(700);
      return [reply, await authorised(lane)];
    },
  },
  {
    name: "a token whose life is short",
    async play(lane) {
      lane.simulator.setTokenLifetimeSeconds(1);
      lane.simulator.revokeAllTokens();
      const replies = [await authorised(lane)];
      lane.simulator.setTokenLifetimeSeconds(86_400);
      await delay(1_100);
      return [...replies, await authorised(lane)];
    },
  },
  {
    name: "a Redis that dies and comes back",
    async play(lane) {
      await lane.server.kill();
      lane.simulator.revokeAllTokens();
      const reply = await authorised(lane);
      await lane.server.restart();
      return [reply, await authorised(lane)];
    },
  },
];
