import type { Path } from "./problem.ts";
import type { Reading } from "./reading.ts";
import type { RawRedis } from "./redis-schema.ts";
import type { RawConfig } from "./schema.ts";

const encryptionKey = /^[0-9a-fA-F]{64}$/;

/** The rules of the `redis` section, and what must be there for `tokens.cache: redis`. */
export async function checkRedis({ redis, tokens }: RawConfig, reading: Reading): Promise<void> {
  const { findings, secrets } = reading;
  if (redis === undefined) {
    if (tokens.cache === "redis") {
      const message = "tokens.cache is redis, but there is no section redis";
      findings.conclude([["redis"]], ["tokens", "cache"], message, "add redis: { url: rediss://… }");
    }
    return;
  }
  if (tokens.cache === "memory") {
    const mend = "write tokens: { cache: redis }, or remove it";
    findings.warn(["redis"], "redis is not used while tokens.cache is memory", mend);
  }
  checkPlaces(redis, reading);
  await checkEncryptionKeys(redis, reading);
  if (redis.password !== undefined) await secrets.secret(redis.password, ["redis", "password"]);
  const sentinelPassword = redis.sentinel?.password;
  if (sentinelPassword !== undefined) await secrets.secret(sentinelPassword, ["redis", "sentinel", "password"]);
}

function checkPlaces({ url, sentinel, cluster, lockNodes }: RawRedis, { findings }: Reading): void {
  const path: Path = ["redis"];
  const given = [url, sentinel, cluster].filter((place) => place !== undefined).length;
  const places: Path[] = ["url", "sentinel", "cluster"].map((name) => [...path, name]);
  if (given === 0) findings.conclude(places, path, "redis does not say where it is", "add url, sentinel or cluster");
  if (given > 1) {
    const message = "redis is in one place only: url, sentinel or cluster";
    findings.refuse(path, message, "keep one of them", `${given} of them`);
  }
  if (lockNodes.length === 0) return;
  // Two lock servers are worse than one: a majority of two is both.
  const masters = lockNodes.length + (url === undefined ? 0 : 1);
  if (url !== undefined && masters >= 3 && masters % 2 === 1) return;
  const message = "the lock needs an odd number of independent masters";
  const at: Path = [...path, "lockNodes"];
  findings.conclude([...places, at], at, message, "with url there must be 3, 5, … in all", `${masters} in all`);
}

async function checkEncryptionKeys({ encryptionKeys }: RawRedis, { findings, secrets }: Reading): Promise<void> {
  const path: Path = ["redis", "encryptionKeys"];
  const mend = "make one with `countersign keygen`";
  if (encryptionKeys.length === 0) {
    const message = "tokens in Redis are encrypted, and there is no key";
    findings.conclude([path], path, message, `${mend} and name its file here`);
  }
  for (const [index, source] of encryptionKeys.entries()) {
    const key = await secrets.secret(source, [...path, index]);
    if (key === undefined || encryptionKey.test(key.reveal())) continue;
    findings.refuse([...path, index], "the key is not 64 hex digits", mend, "hidden");
  }
}
