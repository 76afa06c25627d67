/**
 * Row 23 with the timeouts as shipped: the lock's holder is killed while callers wait whose token was revoked. They have
 * a new token within 2.5 s and the authorization server's own time, so before they give up after 5 s.
 */
import { expect, it } from "vitest";
import { burst } from "./burst.ts";
import { playFleet } from "./fleet-over-redis.ts";
import { heldLock, whenTried } from "./held-lock.ts";
import { tokensInUse } from "./shared-token.ts";
import { print } from "./steady-load.ts";

const callersEach = 5;
/** What a slow authorization server takes. */
const fetchMs = 1_500;

it.each([2, 8])(
  "%i replicas have a new token before their callers give up",
  async (replicas) => {
    await playFleet({ replicas }, async (fleet, redis) => {
      const { simulator } = fleet;
      const [holder, ...living] = fleet.replicas;
      if (holder === undefined) throw new Error("no holder");
      await tokensInUse(fleet);
      simulator.revokeAllTokens();
      simulator.faults.add({ host: "login", kind: "hang" });
      const lost = holder.order().catch((error: unknown) => error);
      await simulator.seen.whenTokenRequests(2);
      expect(await heldLock(redis)).toBeDefined();
      simulator.faults.add({ host: "login", kind: "delay", delayMs: fetchMs });
      const waiting = burst(living, callersEach);
      await whenTried(living, "held");
      holder.signal("SIGKILL");
      expect(await holder.ended).toBe("SIGKILL");
      const killedMs = performance.now();
      const { statuses } = await waiting;
      print(`${replicas} replicas: all callers served after the kill, in ms`, { after: performance.now() - killedMs });
      expect(statuses).toEqual({ 200: living.length * callersEach });
      expect(simulator.counts().tokenRequests).toBe(3);
      expect(await lost).toBeInstanceOf(Error);
    });
  },
  180_000,
);
