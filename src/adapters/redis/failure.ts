import { errorCodeOf } from "../../model/defect.ts";
import { type RedisFailureKind, redisFailures } from "../../model/redis-access.ts";

/** A failed Redis command, by its kind and code alone: a foreign error object carries the command's arguments, and so the token. */
export class RedisFailure extends Error {
  readonly kind: RedisFailureKind;
  /** The error's own code, such as ECONNREFUSED or MISCONF. */
  readonly code: string | undefined;

  constructor(kind: RedisFailureKind, code?: string) {
    super(`Redis: ${kind}`);
    this.kind = kind;
    this.code = code;
  }
}

/** Kinds after which the next command would fail too: no command is sent until a trial succeeds. */
const fatal = [
  "timeout",
  "connection",
  "tls",
  "loading",
  "noauth",
  "protected_mode",
  "clusterdown",
  "masterdown",
  "busy",
  "no_clock",
];

export function isFatal(kind: RedisFailureKind): boolean {
  return fatal.includes(kind);
}

const code =
  /(?:^|[\s:-])(READONLY|OOM|LOADING|NOAUTH|WRONGPASS|NOPERM|WRONGTYPE|NOSCRIPT|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|MOVED|ASK|BUSY|NOREPLICAS|MISCONF)\b/;
/** ioredis quotes the last error before it gave up. */
const redirected = /^Too many Cluster redirections\. Last error: ReplyError: (.*)/;
/** In the scripts TIME is the only command that a server is known to refuse (ElastiCache Serverless), or that is renamed. */
const lacksClock =
  /^NOCLOCK|command is not allowed from script|unknown (?:\w+ )?command called from (?:\w+ )?script|unknown command '?time\b/i;
const lacksPermission = /The user executing the script can't|ACL failure in script/;
const noConnection =
  /connection|stream|socket|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ENOENT|max retries|failed to refresh|sentinels|ParserError/i;
const tlsCode = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/;

/** The kind of an error that ioredis throws. */
export function kindOf(thrown: unknown): RedisFailureKind {
  const error = ofLastNode(thrown);
  if (error instanceof RedisFailure) return error.kind;
  if (!(error instanceof Error)) return "other";
  const { message } = error;
  if (message === "Command timed out") return "timeout";
  const reply = error.name === "ReplyError" ? message : redirected.exec(message)?.[1];
  if (reply !== undefined) return kindOfReply(reply);
  if (tlsCode.test(errorCodeOf(error) ?? "")) return "tls";
  return noConnection.test(`${error.name} ${message}`) ? "connection" : "other";
}

function kindOfReply(reply: string): RedisFailureKind {
  if (lacksClock.test(reply)) return "no_clock";
  const found = code.exec(reply)?.[1];
  if (found === undefined) return lacksPermission.test(reply) ? "noperm" : "other";
  return found === "WRONGPASS" ? "noauth" : (redisFailures.find((kind) => kind === found.toLowerCase()) ?? "other");
}

/** Why a command failed, for people. No more is kept of a foreign error, since it may carry a command's arguments. */
export interface RedisTrouble {
  readonly kind: RedisFailureKind;
  /** The error's own code, such as ECONNREFUSED or MISCONF. */
  readonly code: string | undefined;
  /** With `noperm`: the key is not permitted, not the command. */
  readonly isAboutKey: boolean;
}

/** The failure that an error of ioredis is. */
export function failureOf(thrown: unknown): RedisFailure {
  if (thrown instanceof RedisFailure) return thrown;
  const { kind, code } = troubleOf(thrown);
  return new RedisFailure(kind, code);
}

export function troubleOf(thrown: unknown): RedisTrouble {
  const error = ofLastNode(thrown);
  const message = error instanceof Error ? error.message : "";
  return {
    kind: kindOf(error),
    code: errorCodeOf(error) ?? /^[A-Z]{2,20}(?= )/.exec(message)?.[0],
    isAboutKey: /\bkeys?\b/i.test(message) && !/\brun the '/i.test(message),
  };
}

/** If a Cluster client had no node left to ask, the last node's error is the reason. */
function ofLastNode(error: unknown): unknown {
  const last = error instanceof Error && "lastNodeError" in error ? error.lastNodeError : undefined;
  return last === undefined ? error : ofLastNode(last);
}
