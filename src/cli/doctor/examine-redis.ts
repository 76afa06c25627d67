import { probeRedis, type RedisProbe } from "../../adapters/redis/probe.ts";
import type { RedisAccess } from "../../model/redis-access.ts";
import { type Check, type Finding, fail, ok, skip, warn } from "./check.ts";
import { explainRedisRefusal } from "./explain-redis.ts";
import { evaluateCommands, evaluateEviction, evaluateLatency, evaluateLogin } from "./judge-redis.ts";
import { type RedisServer, serversOf } from "./redis-server.ts";
import type { Run } from "./run.ts";
import type { Shared } from "./token-shelf.ts";

interface Visited {
  readonly server: RedisServer;
  readonly probe: RedisProbe;
}

/**
 * Each server, then what they are together. One after the other, so that no measurement disturbs another.
 * @param tags the sets' cache keys: what is tried is tried where their tokens are
 */
export async function examineRedis(access: RedisAccess, tags: readonly string[], visit: Run): Promise<Check[]> {
  const { username: user = "default" } = access;
  const checks: Check[] = [];
  const visited: Visited[] = [];
  for (const server of serversOf(access)) {
    const sinceMs = visit.clock.nowMs();
    const probe = await probeRedis(server.connect(), tags, visit.clock);
    const tookMs = Math.round(visit.clock.nowMs() - sinceMs);
    visited.push({ server, probe });
    const findings =
      probe.kind === "refused" ? [explainRedisRefusal(probe.trouble, server, user)] : judge(probe, server, user);
    const subject = `${server.node} ${server.place}`;
    checks.push(...findings.map((finding, index) => about(subject, finding, index === 0 ? tookMs : 0)));
  }
  if (access.lockNodes.length > 0) checks.push(about("lock", judgeLock(visited)));
  return checks;
}

function about(subject: string, finding: Finding, tookMs = 0): Check {
  return { topic: "redis", subject, ...finding, tookMs };
}

function judge(probe: Extract<RedisProbe, { kind: "answered" }>, { node }: RedisServer, user: string): Finding[] {
  // The lock's keys live for seconds.
  const eviction = node === "cache" ? evaluateEviction(probe) : undefined;
  return [
    evaluateLogin(probe, user),
    evaluateLatency(probe),
    evaluateCommands(probe, user),
    ...(eviction ? [eviction] : []),
  ];
}

function judgeLock(visited: readonly Visited[]): Finding {
  const needed = Math.floor(visited.length / 2) + 1;
  const answering = visited.filter(({ probe }) => probe.kind === "answered");
  const seen = new Map<string, string>();
  for (const { server, probe } of visited) {
    const runId = probe.kind === "answered" ? probe.facts?.runId : undefined;
    const other = runId === undefined ? undefined : seen.get(runId);
    if (other !== undefined) {
      const fix = "name independent masters: where one server is lost, both of its names are";
      return fail(`${other} and ${server.node} are one server`, fix);
    }
    if (runId !== undefined) seen.set(runId, server.node);
  }
  const detail = `${answering.length} of ${visited.length} independent masters answer; ${needed} of them lock`;
  if (answering.length === visited.length) return ok(detail);
  const fix = "bring the others back; without a majority, replicas may ask for a token each";
  return answering.length >= needed ? warn(detail, fix) : fail(detail, fix);
}

/** Whether our keys open what other replicas sealed. */
export function examineSeals(shared: readonly Shared[]): Check {
  const unreadable = shared.filter(({ result }) => result === "unreadable").length;
  const opened = shared.filter(({ token }) => token !== undefined).length;
  const subject = "encryptionKeys";
  if (unreadable > 0) {
    const detail = `${unreadable} of ${unreadable + opened} values in the cache cannot be opened`;
    const fix =
      "give every replica the same redis.encryptionKeys (docs/redis.md: roll the encryption key); " +
      "else each replaces the others' tokens";
    return about(subject, warn(detail, fix));
  }
  if (shared.some(({ result }) => result === "error")) return about(subject, skip("the cache could not be read"));
  return about(
    subject,
    opened === 0 ? skip("nothing is in the cache that they could open") : ok(`open what is in the cache (${opened})`),
  );
}
