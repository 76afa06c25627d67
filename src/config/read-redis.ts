import type { RedisAccess } from "../model/redis-access.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";
import { readEncryptionKeys } from "./read-encryption-keys.ts";
import { checkLockNodes, nodesByUrl, readRedisPlace } from "./read-redis-place.ts";
import { readTlsFiles } from "./read-tls.ts";
import type { RawRedis } from "./redis-schema.ts";
import { describeRedisNode } from "./redis-values.ts";
import type { RawConfig } from "./schema.ts";
import { isLocal } from "./values.ts";

const section: Path = ["redis"];
const at = (name: keyof RawRedis): Path => [...section, name];

/** Checks the section `redis`, and makes of it what `tokens.cache: redis` needs; undefined where it is not sound. */
export async function readRedis({ redis, tokens }: RawConfig, reading: Reading): Promise<RedisAccess | undefined> {
  const { findings } = reading;
  if (redis !== undefined) {
    if (tokens.cache === "memory") {
      const fix = "write tokens: { cache: redis }, or remove it";
      findings.warn("redis_unused", section, "redis is not used while tokens.cache is memory", fix);
    }
    return readSection(redis, reading);
  }
  if (tokens.cache === "memory") return undefined;
  const message = "tokens.cache is redis, but there is no section redis";
  return findings.conclude([section], ["tokens", "cache"], message, "add redis: { url: rediss://… }");
}

async function readSection(raw: RawRedis, reading: Reading): Promise<RedisAccess | undefined> {
  const place = await readRedisPlace(raw, reading);
  checkLockNodes(raw, reading);
  checkTls(raw, reading);
  checkUser(raw, reading);
  warnOfPlaintext(raw, reading);
  const encryptionKeys = await readEncryptionKeys(raw.encryptionKeys, at("encryptionKeys"), reading);
  const password = raw.password && (await reading.secrets.secret(raw.password, at("password")));
  const tls = raw.tls && (await readTlsFiles(raw.tls, at("tls"), reading));
  if (place === undefined || encryptionKeys === undefined) return undefined;
  return { place, lockNodes: raw.lockNodes, username: raw.username, password, tls, encryptionKeys };
}

/** A URL says itself whether it speaks TLS; nobody shall believe that the section tls makes it do so. */
function checkTls(raw: RawRedis, { findings }: Reading): void {
  if (raw.tls === undefined) return;
  for (const { node, path } of nodesByUrl(raw)) {
    if (node.kind === "tcp" && node.tls) continue;
    const what = node.kind === "unix" ? "a Unix socket" : "redis://";
    const fix = node.kind === "unix" ? "rediss://host:6379" : describeRedisNode({ ...node, tls: true });
    const message = `${what} does not speak TLS, and tls is configured`;
    findings.refuse(path, message, `write ${fix}, or remove tls`);
  }
}

/** Redis knows a user by name and password together; without the password the default user would be in force. */
function checkUser({ username, password }: RawRedis, { findings }: Reading): void {
  if (username === undefined || password !== undefined) return;
  const fix = "add password: { file: … }; for a user with nopass any password does";
  findings.conclude([at("password")], at("username"), "nobody can log in with a username alone", fix);
}

function warnOfPlaintext(raw: RawRedis, { findings }: Reading): void {
  const message = "the password goes over the network in plain text";
  if (raw.password !== undefined) {
    for (const { node, path } of nodesByUrl(raw)) {
      if (isLocal(node) || (node.kind === "tcp" && node.tls)) continue;
      findings.warn("redis_password_in_plain_text", path, message, "use rediss:// (TLS)");
    }
  }
  for (const name of ["sentinel", "cluster"] as const) {
    const isSecretSent = raw.password !== undefined || (name === "sentinel" && raw.sentinel?.password !== undefined);
    const isFar = raw[name]?.nodes.some((node) => !isLocal({ kind: "tcp", ...node }));
    if (!isFar || !isSecretSent || raw.tls !== undefined) continue;
    findings.warn("redis_password_in_plain_text", at(name), message, "use TLS and add tls: {}");
  }
}
