import type { Fault } from "./fault.ts";
import { revoked } from "./faults-of-tokens.ts";
import { tokenTimeouts } from "./folder.ts";

/** How a connection ends whose other side was killed. */
const killed = ["no answer (UND_ERR_SOCKET)", "no answer (ECONNRESET)", "no answer (EPIPE)", "cut unknown"];

/** Redis in trouble is nothing that callers see, not even where each replica needs a new token at that moment. */
export const faultsOfProcesses: readonly Fault[] = [
  {
    name: "Redis hangs, tokens revoked",
    allows: [revoked],
    tokens: 1,
    async begin({ redis, simulator }) {
      redis.stop();
      simulator.revokeAllTokens();
      return async () => redis.cont();
    },
  },
  {
    name: "Redis killed, tokens revoked",
    allows: [revoked],
    tokens: 1,
    async begin({ redis, simulator }) {
      await redis.kill();
      simulator.revokeAllTokens();
      return () => redis.restart();
    },
  },
  {
    name: "Redis read-only, tokens revoked",
    allows: [revoked],
    tokens: 1,
    async begin({ redis, simulator }) {
      // It follows a master that is not there, and so takes no writes: what a failover leaves behind.
      await redis.command("REPLICAOF", "127.0.0.1", "1");
      simulator.revokeAllTokens();
      return async () => void (await redis.command("REPLICAOF", "NO", "ONE"));
    },
  },
  {
    name: "another configuration, SIGHUP",
    allows: [],
    tokens: 0,
    async begin({ fleet }) {
      const [usual, other] = tokenTimeouts;
      await fleet.reconfigure(other);
      return () => fleet.reconfigure(usual);
    },
  },
  {
    name: "a replica replaced, SIGTERM",
    allows: [],
    tokens: 1,
    async begin({ fleet }) {
      const old = fleet.youngest;
      await fleet.start();
      await fleet.terminate(old);
      return async () => {};
    },
  },
  {
    name: "a replica killed, SIGKILL",
    allows: killed,
    tokens: 1,
    async begin({ fleet }) {
      await fleet.kill(fleet.youngest);
      await fleet.start();
      return async () => {};
    },
  },
  {
    name: "service, authorization server, Redis away",
    allows: ["upstream_unreachable not_sent", "upstream_reset unknown"],
    feltAfterMs: 0,
    tokens: 0,
    async begin({ simulator, redis }) {
      await Promise.all([simulator.stopApi(), simulator.stopLogin(), redis.kill()]);
      return async () => void (await Promise.all([simulator.startApi(), simulator.startLogin(), redis.restart()]));
    },
  },
];
