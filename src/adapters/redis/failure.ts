import { type RedisFailureKind, redisFailures } from "../../model/events.ts";

/**
 * A Redis command that failed, by kind alone: a foreign error object carries the command's arguments, and so the token.
 */
export class RedisFailure extends Error {
  readonly kind: RedisFailureKind;

  constructor(kind: RedisFailureKind) {
    super(`Redis: ${kind}`);
    this.kind = kind;
  }
}

/** Kinds that leave nothing to hope for from the next command: Redis is left alone until a probe succeeds. */
const hopeless: ReadonlySet<RedisFailureKind> = new Set([
  "timeout",
  "connection",
  "tls",
  "loading",
  "noauth",
  "clusterdown",
  "masterdown",
  "busy",
]);

export function isHopeless(kind: RedisFailureKind): boolean {
  return hopeless.has(kind);
}

/** Whether it was Redis that said so. */
export function isAnswer(kind: RedisFailureKind): boolean {
  return kind !== "timeout" && kind !== "connection" && kind !== "tls";
}

const code =
  /(?:^|[\s:-])(READONLY|OOM|LOADING|NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|NOSCRIPT|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY)\b/;
const lacksPermission = /The user executing the script can't|ACL failure in script/;
const noConnection =
  /connection|stream|socket|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ENOENT|max retries|failed to refresh|sentinels/i;

const tlsCode = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/;

/** Sorts what ioredis throws. */
export function kindOf(error: unknown): RedisFailureKind {
  if (error instanceof RedisFailure) return error.kind;
  if (!(error instanceof Error)) return "other";
  // A Cluster that nobody could tell about: the last node's error is the reason.
  if ("lastNodeError" in error && error.lastNodeError !== undefined) return kindOf(error.lastNodeError);
  const { message } = error;
  if (message === "Command timed out") return "timeout";
  const found = error.name === "ReplyError" ? code.exec(message)?.[1] : undefined;
  if (found === "WRONGPASS") return "noauth";
  if (found !== undefined) return redisFailures.find((kind) => kind === found.toLowerCase()) ?? "other";
  if (error.name === "ReplyError") return lacksPermission.test(message) ? "noperm" : "other";
  if ("code" in error && typeof error.code === "string" && tlsCode.test(error.code)) return "tls";
  return noConnection.test(`${error.name} ${message}`) ? "connection" : "other";
}
