import { setTimeout } from "node:timers/promises";
import type { Fault as Misbehaviour } from "../../simulator/src/service/fault.ts";
import { seededRandom } from "../../testkit/seeded-random.ts";
import { hmacSite } from "../../testkit/simulated-sites.ts";
import type { Fleet } from "./fleet.ts";
import { requestTimeoutMs, tokenLifetimeSeconds, tokenTimeoutMs } from "./settings.ts";
import type { Shared } from "./shared.ts";

/** The objects with which faults are made. */
interface Scene extends Pick<Shared, "simulator" | "redis"> {
  readonly fleet: Fleet;
  /** The share of callers that leave before they have an answer. */
  readonly callers: { leavingShare: number };
}

/** Ends a fault; undefined for a fault that ends by itself. */
type End = (() => unknown) | undefined;

/** Something that goes wrong for a while. */
export interface Fault {
  readonly name: string;
  /** The failures that callers may see, as `labelOf` names them; the fault explains no others. */
  readonly allows: readonly string[];
  /** If the fault lasts longer than this, callers must see failures; absent: they need not. */
  readonly feltAfterMs?: number;
  /** How many new tokens each replica may need for it, default 0; and how many more for each second that it lasts. */
  readonly tokens?: number;
  readonly tokensPerSecond?: number;
  begin(scene: Scene): End | Promise<End>;
}

const shortLifetimeSeconds = 2;
const sprinkleEveryMs = 40;

/**
 * The failure that callers may see when all tokens are revoked. After an outage of Redis, replicas may hold different tokens
 * until these are due. A replica that then finds another's token in the cache tries it once, but it is revoked, too.
 */
export const revoked = "service 401 twice";
/** What callers see if no new token is available: the service's 401 to the revoked token, then our own failure. */
const noToken = ["token_unavailable not_sent", "service 401", revoked];
/** Callers wait for a token first. */
const withoutToken = { allows: noToken, feltAfterMs: 2 * tokenTimeoutMs };
const serviceAway = { allows: ["upstream_unreachable not_sent", "upstream_reset unknown"], feltAfterMs: 0 };

const faultsOfTokens: readonly Fault[] = [
  revoking({ name: "all tokens revoked", begin: () => undefined }),
  revoking({
    name: `tokens live ${shortLifetimeSeconds} s`,
    tokens: 2,
    // Refreshes are at least one second apart, even with the shortest life.
    tokensPerSecond: 1,
    begin({ simulator }) {
      simulator.setTokenLifetimeSeconds(shortLifetimeSeconds);
      return async () => {
        simulator.setTokenLifetimeSeconds(tokenLifetimeSeconds);
        // Otherwise one of these tokens may expire in the next fault, while the authorization server is away; that fault does not explain it.
        await setTimeout(shortLifetimeSeconds * 1_000);
      };
    },
  }),
  { name: "authorization server away, tokens live on", allows: [], begin: stopLogin },
  revoking({ name: "authorization server away, tokens revoked", ...withoutToken, begin: stopLogin }),
  revoking({
    name: "authorization server answers 503, tokens revoked",
    ...withoutToken,
    begin: misbehave({ host: "login", kind: "answer", status: 503 }),
  }),
  revoking({
    name: "authorization server answers 429, tokens revoked",
    ...withoutToken,
    begin: misbehave({ host: "login", kind: "answer", status: 429, headers: { "retry-after": "1" } }),
  }),
  revoking({
    name: "authorization server slow, tokens revoked",
    // Less than callers wait for a token.
    begin: misbehave({ host: "login", kind: "delay", delayMs: tokenTimeoutMs / 2 }),
  }),
];

const faultsOfService: readonly Fault[] = [
  {
    name: "service away",
    ...serviceAway,
    async begin({ simulator }) {
      await simulator.stopApi();
      return () => simulator.startApi();
    },
  },
  {
    name: "service resets connections",
    allows: ["upstream_reset unknown"],
    feltAfterMs: 0,
    begin: sprinkle(
      { host: "api", kind: "reset", when: "before_reading" },
      { host: "api", kind: "reset", when: "after_reading" },
    ),
  },
  {
    name: "service breaks its answers off",
    allows: ["cut unknown", "upstream_reset unknown", "upstream_bad_response unknown"],
    feltAfterMs: 0,
    begin: sprinkle(
      { host: "api", kind: "reset", when: "mid_answer" },
      { host: "api", kind: "truncate" },
      { host: "api", kind: "raw", bytes: "HTTP/9.9 malformed\r\n\r\n" },
    ),
  },
  {
    name: "service too slow for one site",
    allows: ["upstream_timeout unknown"],
    feltAfterMs: requestTimeoutMs,
    begin: misbehave({ host: "api", kind: "delay", delayMs: 2 * requestTimeoutMs, site: hmacSite }),
  },
  {
    name: "service answers 503",
    allows: ["service 503"],
    feltAfterMs: 0,
    begin: misbehave({ host: "api", kind: "answer", status: 503 }),
  },
  {
    name: "half of the callers leave",
    allows: [],
    begin(scene) {
      const end = misbehave({ host: "api", kind: "delay", delayMs: 100 })(scene);
      scene.callers.leavingShare = 0.5;
      return () => {
        scene.callers.leavingShare = 0;
        end();
      };
    },
  },
];

/** Callers do not notice faults of Redis, not even if each replica needs a new token at that moment. */
const faultsOfProcesses: readonly Fault[] = [
  revoking({
    name: "Redis hangs, tokens revoked",
    begin({ redis }) {
      redis.stop();
      return () => redis.cont();
    },
  }),
  revoking({
    name: "Redis killed, tokens revoked",
    async begin({ redis }) {
      await redis.kill();
      return () => redis.restart();
    },
  }),
  revoking({
    name: "Redis read-only, tokens revoked",
    async begin({ redis }) {
      // Redis follows a missing master, and so refuses writes, as after a failover.
      await redis.command("REPLICAOF", "127.0.0.1", "1");
      return () => redis.command("REPLICAOF", "NO", "ONE");
    },
  }),
  {
    name: "another configuration, SIGHUP",
    allows: [],
    async begin({ fleet }) {
      await fleet.reconfigure(tokenTimeoutMs - 1);
      return () => fleet.reconfigure(tokenTimeoutMs);
    },
  },
  {
    name: "a replica replaced, SIGTERM",
    allows: [],
    tokens: 1,
    async begin({ fleet }) {
      const old = fleet.youngest;
      await fleet.grow();
      await fleet.terminate(old);
      return undefined;
    },
  },
  {
    name: "a replica killed, SIGKILL",
    // The possible ends of a connection whose other side was killed.
    allows: ["no answer (UND_ERR_SOCKET)", "no answer (ECONNRESET)", "no answer (EPIPE)", "cut unknown"],
    tokens: 1,
    async begin({ fleet }) {
      await fleet.kill(fleet.youngest);
      await fleet.grow();
      return undefined;
    },
  },
  {
    name: "service, authorization server, Redis away",
    ...serviceAway,
    async begin({ simulator, redis }) {
      await Promise.all([simulator.stopApi(), simulator.stopLogin(), redis.kill()]);
      return () => Promise.all([simulator.startApi(), simulator.startLogin(), redis.restart()]);
    },
  },
];

export const everyFault: readonly Fault[] = [...faultsOfTokens, ...faultsOfService, ...faultsOfProcesses];

/** Adds that all tokens are revoked as soon as the fault has begun. */
function revoking(fault: Omit<Fault, "allows"> & Partial<Fault>): Fault {
  return {
    allows: [revoked],
    tokens: 1,
    ...fault,
    async begin(scene) {
      const end = await fault.begin(scene);
      scene.simulator.revokeAllTokens();
      return end;
    },
  };
}

async function stopLogin({ simulator }: Scene) {
  await simulator.stopLogin();
  return () => simulator.startLogin();
}

/** All requests meet this misbehaviour. */
function misbehave(misbehaviour: Misbehaviour) {
  return ({ simulator }: Scene) => {
    const planned = simulator.faults.add({ ...misbehaviour, times: "until_cleared" });
    return () => planned.clear();
  };
}

/** From time to time one request meets one of these, in turn. */
function sprinkle(...misbehaviours: readonly Misbehaviour[]) {
  return ({ simulator }: Scene) => {
    let turn = 0;
    const timer = setInterval(() => {
      const next = misbehaviours[turn++ % misbehaviours.length];
      if (next !== undefined) simulator.faults.add(next);
    }, sprinkleEveryMs);
    return () => {
      clearInterval(timer);
      simulator.faults.clear();
    };
  };
}

/** One fault after the other without end: each comes once, in an order that the seed decides, before any comes again. */
export function* schedule<Item>(items: readonly Item[], seed: number): Generator<Item, never> {
  const random = seededRandom(seed);
  for (;;) yield* shuffle(items, random);
}

/** Fisher and Yates. */
function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(Math.floor(random() * rest.length), 1));
}
