import type { RedisProbe } from "../../adapters/redis/probe.ts";
import { type Finding, fail, ok, warn } from "./check.ts";
import { fixPermissions } from "./explain-redis.ts";

type Answered = Extract<RedisProbe, { kind: "answered" }>;

const goodMedianMs = 10;
/** A command that takes longer is given up, and Redis left alone for a while. */
const longestMs = 100;

/** Nobody misses these but the client's own checks, and people. */
const dispensable: ReadonlySet<string> = new Set(["info", "ping"]);

export function evaluateLogin({ facts, objection }: Answered, user: string): Finding {
  const version = facts?.version === undefined ? "" : `, version ${facts.version}`;
  if (objection?.kind === "noperm") {
    const detail = `the user ${user} may not choose the database, so database 0 is in use`;
    return fail(detail, `write the address without a database, or ${fixPermissions(user, ["select"])}`);
  }
  return ok(`answers to the user ${user}${version}`);
}

export function evaluateLatency({ roundTripsMs }: Answered): Finding {
  const sorted = roundTripsMs.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const longest = sorted.at(-1) ?? 0;
  const detail = `${sorted.length} round trips: median ${formatMs(median)}, longest ${formatMs(longest)}`;
  if (median <= goodMedianMs && longest <= longestMs) return ok(detail);
  const fix = "bring it nearer (same zone), or see what keeps it or this pod busy (SLOWLOG, CPU throttling)";
  return median > longestMs ? fail(`${detail}; commands end after ${longestMs} ms`, fix) : warn(detail, fix);
}

export function evaluateCommands({ tried, facts }: Answered, user: string): Finding {
  const troubled = tried.filter(({ trouble }) => trouble !== undefined);
  const forbidden = troubled.filter(({ trouble }) => trouble?.kind === "noperm");
  if (forbidden.some(({ trouble }) => trouble?.isAboutKey)) {
    return fail(`the user ${user} may not use keys under countersign:`, fixPermissions(user, [], "~countersign:*"));
  }
  if (forbidden.length > 0) {
    const names = forbidden.map(({ name }) => name);
    const detail = `the user ${user} may not ${names.map((name) => name.toUpperCase().replace("|", " ")).join(", ")}`;
    const judge = names.every((name) => dispensable.has(name)) ? warn : fail;
    return judge(detail, fixPermissions(user, names));
  }
  const [first] = troubled;
  if (first?.trouble !== undefined) return explainTrouble(first.name, first.trouble.kind, first.trouble.code);
  if (facts?.role === "slave") return fail("it is a replica, and takes writes that nobody else sees", fixReplica);
  return ok(`every command that is needed works: ${tried.map(({ name }) => name.replace("|", " ")).join(", ")}`);
}

const fixReplica = "name the master; where masters change, let Sentinels find it (redis.sentinel)";

function explainTrouble(name: string, kind: string, code: string | undefined): Finding {
  const command = name.toUpperCase().replace("|", " ");
  switch (kind) {
    case "readonly":
      return fail(`it is a replica and takes no writes (${command}: READONLY)`, fixReplica);
    case "oom":
      return fail(
        `its memory is full (${command}: OOM)`,
        "raise maxmemory, or let it evict: maxmemory-policy volatile-lru",
      );
    case "clusterdown":
    case "masterdown":
      return fail(
        `a part of it is down (${command}: ${code})`,
        "see CLUSTER INFO, or INFO replication, and bring it back",
      );
    default:
      return fail(`${command} fails (${code ?? kind})`, "see Redis's own log");
  }
}

/** Undefined where nothing can be said. A token that is evicted costs one token request. */
export function evaluateEviction({ facts }: Answered): Finding | undefined {
  if (facts?.evictionPolicy === undefined) return undefined;
  const { evictionPolicy, evictedKeys } = facts;
  const detail = `maxmemory-policy ${evictionPolicy}, ${evictedKeys} keys evicted since its start`;
  if (evictedKeys === 0) return ok(detail);
  return warn(
    `${detail}: each token among them costs a token request`,
    "raise maxmemory, or give Countersign a Redis of its own",
  );
}

function formatMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}
