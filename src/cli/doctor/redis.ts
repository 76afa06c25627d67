import { createCacheClient, createNodeClient } from "../../adapters/redis/client.ts";
import type { RedisTrouble } from "../../adapters/redis/failure.ts";
import { probeRedis, type RedisProbe } from "../../adapters/redis/probe.ts";
import { lockTrialScript, trialScript } from "../../adapters/redis/scripts.ts";
import type { ServerFacts } from "../../adapters/redis/server-facts.ts";
import type { Config } from "../../config/config.ts";
import { explainConnectFailure } from "../../model/connect-failure.ts";
import {
  describeRedisNode,
  describeRedisPlace,
  lockNodeName,
  type RedisAccess,
  type RedisNode,
  type RedisPlace,
  redisRefusals,
} from "../../model/redis-access.ts";
import { type Check, type CheckResult, fail, ok, type Run, toCheck, warn } from "./check.ts";

type Answered = Extract<RedisProbe, { kind: "answered" }>;

/**
 * Checks each server, then the lock of all servers. One server after the other, so that no measurement disturbs another.
 * @param tags the sets' cache keys: in a Cluster, commands are tried on the nodes that have the sets' tokens
 */
export async function checkRedis({ config, clock }: Run, tags: readonly string[]): Promise<Check[]> {
  const { tokens } = config;
  if (tokens.cache === "memory") return [];
  const { username: user = "default", lockNodes, confirmsOnce } = tokens.redis;
  const checks: Check[] = [];
  const report = (subject: string, result: CheckResult, tookMs = 0) =>
    checks.push(toCheck({ topic: "redis", subject }, result, tookMs));
  const probes = new Map<string, RedisProbe>();
  for (const server of serversOf(tokens.redis)) {
    const sinceMs = clock.nowMs();
    const isCache = server.node === "cache";
    const trial = isCache ? trialScript : lockTrialScript;
    const probe = await probeRedis(server.client, tags, trial, clock, isCache && confirmsOnce);
    const tookMs = Math.round(clock.nowMs() - sinceMs);
    probes.set(server.node, probe);
    if (isCache && probe.kind === "answered") {
      for (const subject of remembered(config)) report(subject, evaluateMemory(probe.facts));
    }
    for (const [index, result] of evaluateServer(probe, server, user).entries()) {
      report(`${server.node} ${server.place}`, result, index === 0 ? tookMs : 0);
    }
  }
  if (lockNodes.length > 0) report("lock", evaluateLock(probes));
  return checks;
}

type RedisServer = ReturnType<typeof serversOf>[number];

/** The Redis servers that the configuration names; a master with its Sentinels, or a Cluster, counts as one server. */
function serversOf(access: RedisAccess) {
  const { place, lockNodes, tls } = access;
  /** @param node the server's name in events and metrics */
  const single = (node: string, at: RedisNode, setting: string) => ({
    node,
    place: describeRedisNode(at),
    setting,
    kind: "standalone" as const,
    isTls: at.kind === "tcp" && at.tls,
    client: createNodeClient(at, access),
  });
  const others = lockNodes.map((at, index) => single(lockNodeName(index), at, `redis.lockNodes[${index}]`));
  if (place.kind === "standalone") return [single("cache", place.node, "redis.url"), ...others];
  const { kind } = place;
  const [named, setting, isTls] = [describeRedisPlace(place), `redis.${kind}`, tls !== undefined];
  return [{ node: "cache", place: named, setting, kind, isTls, client: createCacheClient(access) }, ...others];
}

/** The limit of `client.ts` for connecting, and again for the greeting. */
const connectTimeoutMs = 500;

function explainRefusal({ kind, code = "" }: RedisTrouble, server: RedisServer, user: string): CheckResult {
  const { place, setting, isTls } = server;
  if (code === "ETIMEDOUT") {
    const also = isTls ? ", and see that it speaks TLS there" : "";
    const fix = `let this pod reach ${place} (NetworkPolicy or firewall: egress to that port, and to DNS)${also}`;
    return fail(`no ${isTls ? "TLS " : ""}connection within ${connectTimeoutMs} ms (${code})`, fix);
  }
  const unreached = explainConnectFailure(code, { place, setting, tlsSetting: "redis.tls", connectTimeoutMs });
  if (unreached !== undefined) return fail(unreached.detail, unreached.fix);
  if (code === "WRONGPASS") {
    const fix = "correct redis.username and redis.password, or see that Redis has this user switched on";
    return fail(`the login as ${user} is refused (WRONGPASS)`, fix);
  }
  const refusal = kind === "noperm" ? undefined : redisRefusals[kind];
  if (refusal !== undefined) return fail(`${refusal.detail} (${code})`, refusal.fix);
  switch (kind) {
    case "noperm": {
      const fix = fixPermissions(user, server.kind === "cluster" ? ["cluster|slots"] : []);
      return fail(`the user ${user} may not even ask (NOPERM)`, fix);
    }
    case "timeout":
      return fail(
        "connected, but it does not answer",
        "see what keeps it busy: a script or a command that takes long, swapping, a stopped process",
      );
    case "tls":
      return fail(
        `no TLS connection (${code})`,
        "see redis.tls: caFile for a private authority, certFile and keyFile if it demands a certificate",
      );
    default: {
      const orTls = isTls ? "" : "; if it speaks TLS, write rediss:// or add redis.tls";
      return fail(unknownAnswers[server.kind], `see what is at ${place}, and that ${setting} is right${orTls}`);
    }
  }
}

const unknownAnswers: Readonly<Record<RedisPlace["kind"], string>> = {
  standalone: "the server there does not speak the Redis protocol",
  sentinel: "none of the Sentinels says where the master is",
  cluster: "none of the nodes says which nodes the Cluster has",
};

/** The command that adds the missing rules of a user. The whole line for a new user is in docs/redis.md. */
function fixPermissions(user: string, commands: readonly string[], ...keys: readonly string[]): string {
  const line = ["ACL SETUSER", user, ...keys, ...commands.map((name) => `+${name}`)].join(" ");
  return `${line}   (and keep it: ACL SAVE, or the file of users; docs/redis.md has the whole line)`;
}

function evaluateServer(probe: RedisProbe, server: RedisServer, user: string): CheckResult[] {
  if (probe.kind === "refused") return [explainRefusal(probe.trouble, server, user)];
  // The lock's keys expire within seconds, so eviction is checked for the cache only.
  const eviction = server.node === "cache" ? (evaluateEviction(probe) ?? []) : [];
  return [evaluateLogin(probe, user), evaluateLatency(probe), evaluateCommands(probe, user), eviction].flat();
}

function evaluateLogin({ facts, objection }: Answered, user: string): CheckResult {
  const version = facts?.version === undefined ? "" : `, version ${facts.version}`;
  if (objection?.kind !== "noperm") return ok(`answers to the user ${user}${version}`);
  const detail = `the user ${user} may not choose the database, so database 0 is in use`;
  return fail(detail, `write the address without a database, or ${fixPermissions(user, ["select"])}`);
}

const goodMedianMs = 10;
/** `serve` gives up a command that takes longer, and then sends Redis no command for a while. */
const longestMs = 100;

export function evaluateLatency({ roundTripsMs }: Pick<Answered, "roundTripsMs">): CheckResult {
  const sorted = roundTripsMs.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const longest = sorted.at(-1) ?? 0;
  const detail = `${sorted.length} round trips: median ${formatMs(median)}, longest ${formatMs(longest)}`;
  if (median <= goodMedianMs && longest <= longestMs) return ok(detail);
  const fix = "bring it nearer (same zone), or see what keeps it or this pod busy (SLOWLOG, CPU throttling)";
  return median > longestMs ? fail(`${detail}; commands end after ${longestMs} ms`, fix) : warn(detail, fix);
}

function formatMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

/** `serve` needs no answer to these: `info` is for the client's check of the data set, `ping` for people. */
const dispensable: ReadonlySet<string> = new Set(["info", "ping"]);

function evaluateCommands({ tried, scripts, facts }: Answered, user: string): CheckResult {
  const failed = tried.flatMap(({ name, trouble }) => (trouble === undefined ? [] : [{ name, ...trouble }]));
  const forbidden = failed.filter(({ kind }) => kind === "noperm");
  if (forbidden.some(({ isAboutKey }) => isAboutKey)) {
    return fail(`the user ${user} may not use keys under countersign:`, fixPermissions(user, [], "~countersign:*"));
  }
  const inCapitals = (name: string) => name.toUpperCase().replace("|", " ");
  if (forbidden.length > 0) {
    const names = forbidden.map(({ name }) => name);
    const result = names.every((name) => dispensable.has(name)) ? warn : fail;
    return result(`the user ${user} may not ${names.map(inCapitals).join(", ")}`, fixPermissions(user, names));
  }
  const first = failed[0] ?? (scripts && { name: "eval", ...scripts });
  if (first !== undefined) return explainCommandFailure(inCapitals(first.name), first);
  if (facts?.role === "slave")
    return fail("it is a replica, and takes writes that no other server sees", redisRefusals.readonly.fix);
  return ok(`every command that is needed works: ${tried.map(({ name }) => name.replace("|", " ")).join(", ")}`);
}

function explainCommandFailure(command: string, { kind, code = kind.toUpperCase() }: RedisTrouble): CheckResult {
  const refusal = redisRefusals[kind];
  if (refusal === undefined) return fail(`${command} fails (${code})`, "see Redis's own log");
  return fail(`${refusal.detail} (${command}: ${code})`, refusal.fix);
}

/** Undefined if the server did not report its policy. Each evicted token causes one token request. */
export function evaluateEviction({ facts }: Pick<Answered, "facts">): CheckResult | undefined {
  if (facts?.evictionPolicy === undefined) return undefined;
  const { evictionPolicy, evictedKeys } = facts;
  const detail = `maxmemory-policy ${evictionPolicy}, ${evictedKeys} keys evicted since its start`;
  return evictedKeys === 0
    ? ok(detail)
    : warn(`${detail}: each token among them causes a token request`, redisRefusals.oom.fix);
}

function evaluateLock(probes: ReadonlyMap<string, RedisProbe>): CheckResult {
  const answering = [...probes].flatMap(([node, probe]) =>
    probe.kind === "answered" ? [{ node, ...probe.facts }] : [],
  );
  for (const [index, { node, runId }] of answering.entries()) {
    const other = answering.slice(0, index).find((each) => runId !== undefined && each.runId === runId);
    if (other === undefined) continue;
    const fix = "name independent masters: a failure of this server is a failure of both";
    return fail(`${other.node} and ${node} are one server`, fix);
  }
  const needed = Math.floor(probes.size / 2) + 1;
  const detail = `${answering.length} of ${probes.size} independent masters answer; ${needed} of them lock`;
  if (answering.length === probes.size) return ok(detail);
  const fix = "bring the others back; without a majority, replicas may request a token each";
  return answering.length >= needed ? warn(detail, fix) : fail(detail, fix);
}

/** The features whose keys Redis must not lose before they expire. */
function remembered({ once, callbacks }: Config): string[] {
  return [...(once === undefined ? [] : ["once"]), ...(callbacks.length === 0 ? [] : ["callbacks"])];
}

/** Whether Redis keeps these keys: if it loses one, a request may be sent again, or a callback handed over again. */
function evaluateMemory(facts: ServerFacts | undefined): CheckResult {
  if (facts?.evictionPolicy === undefined) {
    return warn("INFO does not say whether Redis keeps keys", "see that maxmemory-policy is noeviction");
  }
  const { evictionPolicy, isAppendOnly } = facts;
  if (evictionPolicy !== "noeviction") {
    const detail = `maxmemory-policy ${evictionPolicy}: a full Redis drops keys before their time is over`;
    return warn(detail, "set maxmemory-policy noeviction; a full Redis then refuses with 503");
  }
  if (isAppendOnly) return ok("Redis drops no key before its time, and keeps them on disk");
  const fix = "set appendonly yes, and appendfsync always if not even one second may be lost; docs/once.md says more";
  return warn("appendonly no: a restart of Redis loses every key", fix);
}
