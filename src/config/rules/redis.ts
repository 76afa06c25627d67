import { describeRedisNode, type RedisAccess, type RedisNode, type RedisPlace } from "../../model/redis-access.ts";
import type { Secret } from "../../model/secret.ts";
import type { SecretSource } from "../form/fields.ts";
import type { RawConfig, RawRedis } from "../form/schema.ts";
import { isLocal } from "../form/values.ts";
import type { Content, LoadContext } from "./load-context.ts";
import { loadTls } from "./tls.ts";
import { repeats } from "./uniqueness.ts";

const sixtyFourHexDigits = /^[0-9a-f]{64}$/i;
const oneDigitOnly = /^(.)\1*$/i;
const makeKey = "make one with `countersign keygen`";
/** All that the section needs. */
export const addRedis =
  "add redis: { url: rediss://cache:6379, encryptionKeys: [ { file: token-key } ] }, and make the file: countersign keygen >token-key";

type Login = Pick<RedisAccess, "username" | "password">;
const noLogin: Login = { username: undefined, password: undefined };

/** A node given by its URL, and the URL's place in the configuration. */
type NodeByUrl = readonly [node: RedisNode, at: LoadContext];

/**
 * Checks and loads the section `redis`, for `tokens.cache: redis`; undefined if it is not sound.
 * @param root of the whole configuration
 */
export async function loadRedis(
  { redis: raw, tokens: { cache }, once }: Pick<RawConfig, "redis" | "tokens" | "once">,
  root: LoadContext,
): Promise<RedisAccess | undefined> {
  const context = root.in("redis");
  if (raw === undefined) {
    if (cache === "memory") return undefined;
    const message = "tokens.cache is redis, but there is no section redis";
    return root.in("tokens", "cache").report(message, addRedis);
  }
  if (cache === "memory") {
    const fix = "write tokens: { cache: redis }, or remove it";
    context.report("redis is not used while tokens.cache is memory", fix, "hidden");
  }
  const place = await loadPlace(raw, context);
  const { url, lockNodes } = raw;
  const atLockNodes = context.in("lockNodes");
  const nodes: NodeByUrl[] = [...atLockNodes.each(lockNodes)];
  if (url !== undefined) nodes.unshift([url, context.in("url")]);
  // A majority locks: two masters are worse than one. Without a place, their number cannot be judged.
  if (place !== undefined && lockNodes.length > 0 && (url === undefined || nodes.length % 2 === 0)) {
    const fix = "with url there must be 3, 5, … in all";
    atLockNodes.report("the lock needs an odd number of independent masters", fix, `${nodes.length} in all`);
  }
  for (const [[, at]] of repeats(nodes, ([node]) => serverOf(node))) {
    const message = "one server twice is not independent: if it is lost, both are lost";
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
  const { username, password } = await loadLogin(raw, context);
  const tls = raw.tls && (await loadTls(raw.tls, context.in("tls")));
  if (place === undefined || encryptionKeys === undefined) return undefined;
  const confirmsOnce = once?.durability === "replica";
  if (confirmsOnce && place.kind === "cluster") {
    const fix = "use Sentinels, or one address that leads to the master; or remove it";
    root.in("once", "durability").report("replicas of a Cluster are not asked", fix);
  }
  return { place, lockNodes, username, password, tls, confirmsOnce, encryptionKeys };
}

/** The user and the password: each from its own place, or both from one file. */
async function loadLogin({ username: user, password: source }: RawRedis, context: LoadContext): Promise<Login> {
  const at = context.in("password");
  const isBoth = typeof user === "object" && source !== undefined && "file" in source && source.file === user.file;
  const content = source && (await at.readSecret(source, isBoth ? "lines" : "line"));
  if (isBoth) {
    return content === undefined ? noLogin : splitLogin(content, at);
  }
  const username = typeof user === "object" ? await context.in("username").readText(user.file, "user name") : user;
  return { username, password: content && at.makeSecret(content) };
}

/** Splits a file with both, which can so be renewed together: the user name on the first line, the password on the second. */
function splitLogin({ bytes, origin }: Content, context: LoadContext): Login {
  const end = bytes.indexOf("\n");
  const username = bytes.subarray(0, Math.max(end, 0)).toString("latin1").replace(/\r$/, "");
  const secret = bytes.subarray(end + 1);
  if (/^[\x21-\x7e]+$/.test(username) && secret.length > 0) {
    return { username, password: context.makeSecret({ bytes: secret, origin }) };
  }
  const fix = "write the user name on the first line, and the password on the second";
  context.report("the file does not hold a user name and a password", fix, origin);
  return noLogin;
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

/** Identifies a server: the result is the same for all its databases, and for all loopback addresses. */
function serverOf(node: RedisNode): string {
  if (node.kind === "unix") return node.path;
  const isLoopback = node.host === "127.0.0.1" || node.host === "::1";
  return `${isLoopback ? "localhost" : node.host} ${node.port}`;
}

/** The scheme of a URL decides whether TLS is used; the section tls does not change that. */
function checkUrlsSpeakTls(nodes: readonly NodeByUrl[]): void {
  for (const [node, at] of nodes) {
    if (node.kind === "tcp" && node.tls) continue;
    const what = node.kind === "unix" ? "a Unix socket" : "redis://";
    const fix = node.kind === "unix" ? "rediss://host:6379" : describeRedisNode({ ...node, tls: true });
    at.report(`${what} does not speak TLS, and tls is configured`, `write ${fix}, or remove tls`);
  }
}

function warnOfPlaintext(raw: RawRedis, nodes: readonly NodeByUrl[], context: LoadContext): void {
  const warn = (at: LoadContext, fix: string) =>
    at.warn("redis_password_in_plain_text", "the password goes over the network in plain text", fix);
  for (const [node, at] of raw.password === undefined ? [] : nodes) {
    if (!isLocal(node) && !(node.kind === "tcp" && node.tls)) warn(at, "use rediss:// (TLS)");
  }
  for (const name of ["sentinel", "cluster"] as const) {
    const isSecretSent = raw.password !== undefined || (name === "sentinel" && raw.sentinel?.password !== undefined);
    const isFar = raw[name]?.nodes.some((node) => !isLocal({ kind: "tcp", ...node }));
    if (isFar && isSecretSent && raw.tls === undefined) warn(context.in(name), "use TLS and add tls: {}");
  }
}

/** Loads the keys that encrypt tokens in Redis: 32 bytes each, written as hex digits. */
async function loadEncryptionKeys(
  sources: readonly SecretSource[],
  context: LoadContext,
): Promise<RedisAccess["encryptionKeys"] | undefined> {
  if (sources.length === 0) {
    return context.report("tokens in Redis are encrypted, and there is no key", `${makeKey} and name its file here`);
  }
  const keys: Secret[] = [];
  for (const [source, at] of context.each(sources)) {
    const content = await at.readSecret(source);
    if (content === undefined) continue;
    const digits = content.bytes.toString("latin1");
    const isHex = sixtyFourHexDigits.test(digits);
    if (!isHex || oneDigitOnly.test(digits)) {
      const fault = isHex ? "one digit 64 times, which is easy to guess" : "not 64 hex digits";
      at.report(`the key is ${fault}`, makeKey, "hidden");
      continue;
    }
    const key = at.makeSecret({ bytes: Buffer.from(digits, "hex"), origin: content.origin });
    if (keys.some((earlier) => earlier.equals(key))) {
      const message = "this key is here already: a key that is being replaced needs another beside it";
      at.report(message, `remove it, or ${makeKey}`, "hidden");
    }
    keys.push(key);
  }
  const [first, ...others] = keys;
  return first === undefined ? undefined : [first, ...others];
}
