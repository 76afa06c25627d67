import type { Findings } from "./findings.ts";
import type { Path } from "./problem.ts";
import type { SecretReader } from "./read-secrets.ts";
import type { RawConfig, RawRedis } from "./schema.ts";

const hexKey = /^[0-9a-fA-F]{64}$/;

/** The rules of the `redis` section, and what must be there for `tokens.cache: redis`. */
export async function checkRedis(
  { redis, tokens }: RawConfig,
  secrets: SecretReader,
  findings: Findings,
): Promise<void> {
  if (redis === undefined) {
    if (tokens.cache === "redis")
      findings.refuse(["redis"], "tokens.cache is redis, but redis is missing", "add redis: { url: rediss://… }");
    return;
  }
  if (tokens.cache === "memory")
    findings.warn(
      ["redis"],
      "redis is not used while tokens.cache is memory",
      "write tokens: { cache: redis }, or remove it",
    );
  checkAddresses(redis, findings);
  checkLockNodes(redis, findings);
  await checkEncryptionKeys(redis, secrets, findings);
  if (redis.password !== undefined) await secrets.secret(redis.password, ["redis", "password"]);
}

function checkAddresses({ url, sentinel, cluster }: RawRedis, findings: Findings): void {
  const given = [url, sentinel, cluster].filter((address) => address !== undefined).length;
  if (given !== 1)
    findings.refuse(
      ["redis"],
      "redis needs exactly one of url, sentinel and cluster",
      "keep one of them",
      `${given} of them`,
    );
  if (url !== undefined && !/^(rediss?:\/\/[^\s@]+|unix:\/\S+)$/.test(url)) {
    findings.refuse(
      ["redis", "url"],
      "this is not a Redis address",
      "write redis://host:6379 or rediss://host:6379; user and password have keys of their own",
      "hidden",
    );
  }
}

/** Two lock servers are worse than one: a majority of two is both. */
function checkLockNodes({ url, lockNodes }: RawRedis, findings: Findings): void {
  if (lockNodes.length === 0) return;
  const servers = lockNodes.length + (url === undefined ? 0 : 1);
  if (url === undefined || servers < 3 || servers % 2 === 0) {
    findings.refuse(
      ["redis", "lockNodes"],
      "the lock needs an odd number of independent masters, at least 3 with url",
      "add or remove one",
      `${servers} in all`,
    );
  }
}

async function checkEncryptionKeys(
  { encryptionKeys }: RawRedis,
  secrets: SecretReader,
  findings: Findings,
): Promise<void> {
  const path: Path = ["redis", "encryptionKeys"];
  if (encryptionKeys.length === 0) {
    findings.refuse(
      path,
      "tokens in Redis are encrypted, and there is no key",
      "make one with `countersign keygen` and name its file here",
    );
  }
  for (const [index, source] of encryptionKeys.entries()) {
    const key = await secrets.secret(source, [...path, index]);
    if (key !== undefined && !hexKey.test(key.reveal())) {
      findings.refuse([...path, index], "the key is not 64 hex digits", "make one with `countersign keygen`", "hidden");
    }
  }
}
