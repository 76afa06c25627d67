import type * as z from "zod";
import { describeRedisNode, type RedisAccess, type RedisNode, type RedisPlace } from "../model/redis-access.ts";
import type { Secret } from "../model/secret.ts";
import type { TokensConfig } from "./config.ts";
import { listOf, mapping, parsed, type SecretSource, secretSource, text, tlsFiles } from "./fields.ts";
import type { LoadContext } from "./load-context.ts";
import { loadTls } from "./tls.ts";
import { repeats } from "./uniqueness.ts";
import { hostPortPattern, isLocal, readHostPort, readRedisNode, redisNodePattern } from "./values.ts";

const redisNode = (example: string) => parsed(readRedisNode, { pattern: redisNodePattern, example });
const hostPort = (example: string) => parsed(readHostPort, { pattern: hostPortPattern, example });

const sentinel = mapping("Sentinels, instead of url.", {
  name: text.describe("Name of the master that the Sentinels watch."),
  nodes: listOf(hostPort("sentinel:26379"), 1).describe("The Sentinels, as `host:port`."),
  password: secretSource.optional().describe("Where the Sentinels' own password is."),
});

const cluster = mapping("A Redis Cluster, instead of url.", {
  nodes: listOf(hostPort("cache:6379"), 1).describe("Some of the nodes, as `host:port`."),
});

export const redis = mapping("Where replicas share tokens; for `tokens.cache: redis`.", {
  url: redisNode("rediss://cache:6379")
    .optional()
    .describe("One Redis: `rediss://host:port/db` (TLS), `redis://host:port/db` or `unix:/path?db=0`."),
  sentinel: sentinel.optional(),
  cluster: cluster.optional(),
  username: text.optional().describe("ACL user, of every node; needs password. Default: Redis's own default user."),
  password: secretSource.optional().describe("Where its password is: `{ file: … }` or `{ env: … }`."),
  tls: tlsFiles
    .describe("TLS towards Redis: `tls: {}` turns it on for sentinel and cluster; with url write rediss://.")
    .optional(),
  lockNodes: listOf(redisNode("rediss://lock-2:6379"))
    .prefault([])
    .describe("More independent masters, as url; with it an odd number of at least 3 in all: then a majority locks."),
  encryptionKeys: listOf(secretSource)
    .default([])
    .describe("Keys of 64 hex digits (`countersign keygen`); the first encrypts (AES-256-GCM), all decrypt."),
});

type RawRedis = z.output<typeof redis>;

const sixtyFourHexDigits = /^[0-9a-f]{64}$/i;
const oneDigitOnly = /^(.)\1*$/i;
const makeKey = "make one with `countersign keygen`";

/** A node that is given by its URL, and where. */
interface NodeByUrl {
  readonly node: RedisNode;
  readonly at: LoadContext;
}

/**
 * Checks the section `redis`, and makes of it what `tokens.cache: redis` needs; undefined where it is not sound.
 * @param root of the whole configuration
 */
export async function loadRedis(
  raw: RawRedis | undefined,
  cache: TokensConfig["cache"],
  root: LoadContext,
): Promise<RedisAccess | undefined> {
  const context = root.in("redis");
  if (raw === undefined) {
    if (cache === "memory") return undefined;
    const message = "tokens.cache is redis, but there is no section redis";
    return root.in("tokens", "cache").report(message, "add redis: { url: rediss://… }");
  }
  if (cache === "memory") {
    const fix = "write tokens: { cache: redis }, or remove it";
    context.warn("redis_unused", "redis is not used while tokens.cache is memory", fix);
  }
  const place = await loadPlace(raw, context);
  const nodes = nodesByUrl(raw, context);
  // Without a place, the number of masters cannot be judged.
  if (place !== undefined && raw.lockNodes.length > 0) checkLockCount(raw, nodes.length, context);
  for (const [{ at }] of repeats(nodes, ({ node }) => serverOf(node))) {
    const message = "one server twice is not independent: where it is lost, both are";
    at.report(message, "name another server, or remove it");
  }
  if (raw.tls !== undefined) checkUrlsSpeakTls(nodes);
  if (raw.username !== undefined && raw.password === undefined) {
    // With a name alone, Redis would log in its default user.
    const fix = "add password: { file: … }; for a user with nopass any password does";
    context.in("username").report("a username alone cannot log in", fix);
  }
  warnOfPlaintext(raw, nodes, context);
  const encryptionKeys = await loadEncryptionKeys(raw.encryptionKeys, context.in("encryptionKeys"));
  const password = raw.password && (await context.in("password").loadSecret(raw.password));
  const tls = raw.tls && (await loadTls(raw.tls, context.in("tls")));
  if (place === undefined || encryptionKeys === undefined) return undefined;
  return { place, lockNodes: raw.lockNodes, username: raw.username, password, tls, encryptionKeys };
}

/** Where the shared cache is: exactly one of url, sentinel and cluster. */
async function loadPlace({ url, sentinel, cluster }: RawRedis, context: LoadContext): Promise<RedisPlace | undefined> {
  const given = [url, sentinel, cluster].filter((place) => place !== undefined).length;
  if (given === 0) return context.report("redis does not say where it is", "add url, sentinel or cluster");
  if (given > 1) {
    const message = "redis is in one place only: url, sentinel or cluster";
    context.report(message, "keep one of them", `${given} of them`);
  }
  const source = sentinel?.password;
  const password = source && (await context.in("sentinel", "password").loadSecret(source));
  if (url !== undefined) return { kind: "standalone", node: url };
  const [first, ...others] = sentinel?.nodes ?? cluster?.nodes ?? [];
  if (first === undefined) return undefined;
  const nodes = [first, ...others] as const;
  return sentinel === undefined
    ? { kind: "cluster", nodes }
    : { kind: "sentinel", master: sentinel.name, nodes, password };
}

function nodesByUrl({ url, lockNodes }: RawRedis, context: LoadContext): readonly NodeByUrl[] {
  const all = [...context.in("lockNodes").each(lockNodes)].map(([node, at]) => ({ node, at }));
  return url === undefined ? all : [{ node: url, at: context.in("url") }, ...all];
}

/** A majority locks, so the number of masters is odd. Two are worse than one: their majority is both. */
function checkLockCount({ url }: RawRedis, masters: number, context: LoadContext): void {
  if (url !== undefined && masters % 2 === 1) return;
  const fix = "with url there must be 3, 5, … in all";
  context.in("lockNodes").report("the lock needs an odd number of independent masters", fix, `${masters} in all`);
}

/** The same for all databases of one server, and for all loopback addresses. */
function serverOf(node: RedisNode): string {
  if (node.kind === "unix") return node.path;
  const isLoopback = node.host === "127.0.0.1" || node.host === "::1";
  return `${isLoopback ? "localhost" : node.host} ${node.port}`;
}

/** A URL says itself whether it speaks TLS; the section tls does not change that. */
function checkUrlsSpeakTls(nodes: readonly NodeByUrl[]): void {
  for (const { node, at } of nodes) {
    if (node.kind === "tcp" && node.tls) continue;
    const what = node.kind === "unix" ? "a Unix socket" : "redis://";
    const fix = node.kind === "unix" ? "rediss://host:6379" : describeRedisNode({ ...node, tls: true });
    at.report(`${what} does not speak TLS, and tls is configured`, `write ${fix}, or remove tls`);
  }
}

function warnOfPlaintext(raw: RawRedis, nodes: readonly NodeByUrl[], context: LoadContext): void {
  const warn = (at: LoadContext, fix: string) =>
    at.warn("redis_password_in_plain_text", "the password goes over the network in plain text", fix);
  for (const { node, at } of raw.password === undefined ? [] : nodes) {
    if (!isLocal(node) && !(node.kind === "tcp" && node.tls)) warn(at, "use rediss:// (TLS)");
  }
  for (const name of ["sentinel", "cluster"] as const) {
    const isSecretSent = raw.password !== undefined || (name === "sentinel" && raw.sentinel?.password !== undefined);
    const isFar = raw[name]?.nodes.some((node) => !isLocal({ kind: "tcp", ...node }));
    if (isFar && isSecretSent && raw.tls === undefined) warn(context.in(name), "use TLS and add tls: {}");
  }
}

/** Loads the keys that seal tokens in Redis: 32 bytes each, written as hex digits. */
async function loadEncryptionKeys(
  sources: readonly SecretSource[],
  context: LoadContext,
): Promise<RedisAccess["encryptionKeys"] | undefined> {
  if (sources.length === 0) {
    return context.report("tokens in Redis are encrypted, and there is no key", `${makeKey} and name its file here`);
  }
  const keys: Secret[] = [];
  for (const [source, at] of context.each(sources)) {
    const key = await loadEncryptionKey(source, at);
    if (key === undefined) continue;
    if (keys.some((earlier) => earlier.equals(key))) {
      const message = "this key is here already: a key that is being replaced needs another beside it";
      at.report(message, `remove it, or ${makeKey}`, "hidden");
    }
    keys.push(key);
  }
  const [first, ...others] = keys;
  return first === undefined ? undefined : [first, ...others];
}

async function loadEncryptionKey(source: SecretSource, context: LoadContext): Promise<Secret | undefined> {
  const content = await context.readSecret(source);
  if (content === undefined) return undefined;
  const digits = content.bytes.toString("latin1");
  if (!sixtyFourHexDigits.test(digits)) return context.report("the key is not 64 hex digits", makeKey, "hidden");
  if (oneDigitOnly.test(digits)) {
    return context.report("the key is one digit 64 times, which is easy to guess", makeKey, "hidden");
  }
  return context.makeSecret({ bytes: Buffer.from(digits, "hex"), origin: content.origin });
}
