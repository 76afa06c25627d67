import { describeSkew, formatSpan } from "../../model/clock.ts";
import { applicationOf, describeUnreachable, type Peer, serviceOf } from "../../model/connect-failure.ts";
import { failures } from "../../model/errors.ts";
import {
  type CallbackFinished,
  type Event,
  hasUnknownEffect,
  isFailedByService,
  type RequestFinished,
  type TokenEvent,
  tokenOutages,
} from "../../model/events.ts";
import { claimsNodeName, describeRedisFailure, isAnswer, type RedisEvent } from "../../model/redis-access.ts";
import { explainAnswer, explainCallback } from "../../model/service-answer.ts";

/** The level of a line for the end of a request or callback. */
type EndLevel = "info" | "warn" | "error";
type Level = "trace" | "debug" | EndLevel;

export type RedisDown = Extract<RedisEvent, { kind: "redis_down" }>;
type Fields = Readonly<Record<string, unknown>>;
type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;

type Headline = readonly [Level, message: string];

/**
 * The level and message of every log line, one for each event. `trace` and `debug` are for events of every request, which its
 * access line sums up.
 */
const headlines: { readonly [Kind in Event["kind"]]: (event: Extract<Event, { kind: Kind }>) => Headline } = {
  request_finished: (event) => [levelOf(event), describeRequest(event)],
  outcome_settled: ({ reference, requestId, found, key }) => [
    "info",
    `${reference === undefined ? `request ${requestId}` : `reference ${reference}`} was looked for: ${found ? "it was found" : "there is none"}${key === "free" ? "; a repetition with its key is sent" : ""}`,
  ],
  callback_finished: (event) => [callbackLevelOf(event), describeCallback(event)],
  outage_ended: ({ environment, what, failed, total, lastedMs }) => [
    "info",
    `${what}s of ${environment} succeed again: ${failed} of ${total} failed within ${formatSpan(Math.max(lastedMs, 1_000))}`,
  ],
  tunnel_requested: (event) =>
    event.cause === undefined
      ? ["trace", `the proxy opened a tunnel to ${event.destination}`]
      : [throttledLevel(event), `no tunnel to ${event.destination}: ${event.cause}`],
  upstream_unauthorized: ({ site, server, attempt }) => {
    const again = attempt === 1 ? "" : " again; passed on to the caller";
    return ["warn", `the service, ${server}, answered 401 for ${site}${again}`];
  },
  clock_skew_measured: () => ["trace", "clock compared with the service's"],
  character_warned: ({ parameter }) => [
    "warn",
    `a signed value has a character that the service may refuse: ${parameter}`,
  ],
  token_requested: (event) => [tokenRequestLevel(event), describeTokenRequest(event)],
  token_adopted: () => ["debug", "token in use"],
  token_lapsed: ({ credential, reason }) => [
    reason === "changed" ? "warn" : "info",
    `token for ${credential}: ${lapses[reason]}`,
  ],
  credential_switched: ({ from, to }) => ["warn", `another credential set is in use: ${to}, no longer ${from}`],
  credential_removed: ({ credential }) => ["info", `a credential set is not configured any more: ${credential}`],
  refresh_suppressed: ({ credential, site, reason }) => [
    "debug",
    `no refresh of ${credential} after a 401 for ${site}: ${reason}`,
  ],
  token_cache_read: ({ result }) => ["trace", `token looked up: ${result}`],
  refresh_lock_tried: ({ result }) => ["debug", `refresh lock: ${result}`],
  redis_failed: (event) => [throttledLevel(event), `a Redis command failed: ${event.failure}`],
  redis_evicts: ({ policy, evicted }) => [
    "warn",
    `Redis ${evicted === 0 ? "drops keys when it is full" : `has dropped ${evicted} keys`} (${policy}): an order whose key it drops may be sent again`,
  ],
  redis_down: ({ node, ...event }) => [
    "warn",
    `Redis ${isAnswer(event.failure) ? "refuses commands" : "is away"}${event.awayMs === undefined ? "" : `, for ${formatSpan(event.awayMs)} now`}: ${describeRedisFailure(event)}. ${consequenceOf(node)}`,
  ],
  redis_up: ({ node, awayMs }) => [
    "info",
    awayMs === undefined
      ? "Redis is there"
      : `Redis is back; ${node === claimsNodeName ? "keys" : "tokens"} are shared again`,
  ],
  spans_exported: () => ["debug", "spans exported"],
  spans_lost: (event) => [throttledLevel(event), `${event.count} spans were ${event.result}: ${event.cause}`],
  spans_delayed: (event) => [throttledLevel(event), `the collector took no spans: ${event.cause}; they are sent again`],
  started: () => ["info", "listening"],
  configuration_warned: ({ message }) => ["warn", message],
  handshake_failed: (event) => [throttledLevel(event), `a caller's TLS handshake failed: ${event.reason}`],
  accept_failed: ({ isFirst, reason }) => [isFirst ? "error" : "debug", `a connection could not be taken: ${reason}`],
  old_address_used: (event) => [
    throttledLevel(event),
    `no new address of ${event.host} (${event.cause}); its last one is used`,
  ],
  process_warned: () => ["warn", "a warning of Node's, without its text"],
  log_lines_dropped: ({ dropped }) => ["warn", `${dropped} log lines were dropped: standard output was not read`],
  config_applied: () => ["info", "another configuration is active"],
  config_refused: ({ problems: [first], problemCount }) => {
    const more = problemCount > 1 ? `, and ${problemCount - 1} more` : "";
    return ["error", `a changed configuration was refused as a whole; the one before stays active: ${first}${more}`];
  },
  site_file_refused: ({ file, isServed }) => {
    const served = isServed ? "its site is served as before" : "its site is not served";
    return ["error", `the site file ${file} was refused; ${served}`];
  },
  sites_changed: ({ added, changed, removed }) => [
    "info",
    `sites: ${added} added, ${changed} changed, ${removed} removed`,
  ],
  config_unchanged: () => ["info", "configuration and secrets are as they were"],
  draining: () => ["info", "draining"],
  stopped: () => ["info", "stopped"],
  defect: () => ["error", "a defect in Countersign"],
};

/** The line of a clock that began or ceased to differ from the service's; undefined for any other measurement. */
export function describeClock(
  { environment, skewSeconds }: Extract<Event, { kind: "clock_skew_measured" }>,
  wasOff: boolean,
): Headline | undefined {
  const words = describeSkew(skewSeconds, environment);
  if ((words !== undefined) === wasOff) return undefined;
  if (words !== undefined) return ["warn", words];
  return ["info", `this machine's clock agrees with the service's of ${environment} again`];
}

/** What works no more without this server. */
function consequenceOf(node: string): string {
  if (node === claimsNodeName) return "Requests with Countersign-Once get 503";
  if (node !== "cache") return "It is one of several for the refresh lock";
  return "Every replica keeps its own tokens; requests with Countersign-Once get 503, and callbacks where replay is strict";
}

const lapses: Readonly<Record<Extract<TokenEvent, { kind: "token_lapsed" }>["reason"], string>> = {
  expired: "lapsed, since it has expired",
  changed: "lapsed, since the set's settings changed; it needs a token with the new ones",
  removed: "lapsed, since the set was removed",
};

export function headline(event: Event): Headline {
  return (headlines[event.kind] as (event: Event) => Headline)(event);
}

/** The level of a failure that repeats: `warn` once, then `debug`. */
function throttledLevel({ isFirst }: { readonly isFirst: boolean }): Level {
  return isFirst ? "warn" : "debug";
}

/** At a common start the authorization server may begin to listen a moment later, which is no cause for alarm. */
function tokenRequestLevel({ result, isEarly }: TokenRequested): Level {
  if (isEarly) return "debug";
  return result === "issued" ? "info" : "warn";
}

/** `error`: an operator has to act, since the application failed or a callback is lost. `warn`: refused, not accepted, or unguarded. */
function callbackLevelOf({ result, outcome, isGuarded }: CallbackFinished): EndLevel {
  if (outcome === "unknown" || result === "callback_too_old") return "error";
  const isFine = result === "delivered" || result === "repeated";
  return isFine && isGuarded !== false ? "info" : "warn";
}

/** `callback for S1000000001: 502 application_failed at http://app.example (head)` */
function describeCallback(event: CallbackFinished, advice = ""): string {
  const { site, unknownSite, status, result, cause, isGuarded, callerLeft } = event;
  const server = result === "application_unreachable" ? event.server : undefined;
  const whom = site === undefined ? "" : ` for ${site}`;
  const named = unknownSite === undefined ? "" : ` (${unknownSite})`;
  const why = server !== undefined || cause === undefined || cause === result ? "" : ` (${cause})`;
  const unguarded = isGuarded === false ? ", not guarded against a replay" : "";
  const unreached = server === undefined ? "" : describeServer(cause, applicationOf(server));
  const at = server === undefined ? whereOf(event) : "";
  return `callback${whom}: ${status} ${result}${at}${named}${why}${unguarded}${callerLeft ? ", caller left" : ""}${unreached}${advice}`;
}

/** `; https://api.example: connections are refused (ECONNREFUSED); see …` */
function describeServer(cause = "UNKNOWN", to: Peer): string {
  return `; ${describeUnreachable(cause, to)}`;
}

/** `token for S1000000001/blue: https://auth.example refuses the set (401, invalid_client); compare …; next try in 10 s` */
function describeTokenRequest({ credential, detail, fix, pauseMs }: TokenRequested): string {
  if (detail === undefined) return `token for ${credential}: issued`;
  const next = pauseMs === undefined ? "" : `; next try in ${describePause(pauseMs)}`;
  return `token for ${credential}: ${detail}; ${fix}${next}`;
}

/** `37 ms`, `1.6 s` */
function describePause(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

/** The event's own fields; undefined ones are left out of the line. Access lines are written by `writeAccessLine`. */
export function fieldsOf(event: Exclude<Event, RequestFinished | CallbackFinished>): Fields {
  const { kind, ...fields } = event;
  const written = Object.entries({ event: kind, ...fields, ...changedFields(event) });
  return Object.fromEntries(
    written.map(([name, value]) => [name, typeof value === "number" ? roundToMicroseconds(value) : value]),
  );
}

/** Fields that differ in the line; undefined ones are left out. */
function changedFields(event: Exclude<Event, RequestFinished | CallbackFinished>): Fields {
  switch (event.kind) {
    // A line's `status` is a number, and one field of two types breaks the index of a log store.
    case "started":
      return { admin: undefined, status: undefined, adminBind: event.admin, statusBind: event.status };
    case "configuration_warned":
      return { message: undefined };
    // The message has both.
    case "token_requested":
      return { detail: undefined, fix: undefined };
    default:
      return {};
  }
}

/**
 * An operator has to act on an unknown effect. A refusal of the service passes like any answer, but an order did not
 * succeed: if all requests get 404, the path in baseUrl is wrong, and no caller can correct it.
 */
export function levelOf(event: RequestFinished | CallbackFinished): EndLevel {
  if (event.kind === "callback_finished") return callbackLevelOf(event);
  if (hasUnknownEffect(event)) return "error";
  const isNoOrder = event.by === "service" && event.contentType !== undefined;
  const isFailed = event.code !== undefined || isFailedByService(event.by, event.status, event.operationLabel);
  return isFailed || isNoOrder ? "warn" : "info";
}

/** Lines with the same trouble do not each say what to do. @param redis as for `adviceOn` */
export function troubleOf(event: RequestFinished | CallbackFinished, redis: RedisDown | undefined): string {
  const { kind, environment, server, status, code } = event;
  const what = kind === "callback_finished" ? event.result : `${event.auth} ${code ?? status}`;
  return `${kind} ${environment} ${server} ${what} ${isOfRedis(event) ? (redis?.cause ?? redis?.failure) : ""}`;
}

function isOfRedis({ cause, code }: RequestFinished | CallbackFinished): boolean {
  return cause === "Redis" || code === "replay_store_unavailable";
}

/** `create_order for S1000000001: 504 upstream_timeout at https://api.example (no answer), unknown` */
function describeRequest(event: RequestFinished, advice = ""): string {
  const { site, status, code, cause, outcome, attempts, retryReason, location, contentType, callerLeft } = event;
  const server = code === "upstream_unreachable" ? event.server : undefined;
  const whom = site === undefined ? "" : ` for ${site}`;
  const whose = tokenOutages.some((each) => each === code) ? "authorization server: " : "";
  const why = cause === undefined || server !== undefined ? "" : ` (${whose}${cause})`;
  const to = location === undefined ? "" : `, Location ${location}`;
  const type = contentType === undefined ? "" : `, ${contentType}`;
  const retried = attempts > 1 ? `, ${attempts} attempts` : "";
  const notRetried = retryReason === undefined ? "" : `, no retry (${retryReason})`;
  const left = callerLeft ? ", caller left" : "";
  const unreached = server === undefined ? "" : describeServer(cause, serviceOf(event.environment, server));
  return `${whatOf(event)}${whom}: ${status}${nameOf(event)}${why}, ${outcome}${to}${type}${retried}${notRetried}${left}${unreached}${advice}`;
}

/**
 * `; it does not accept the token; compare …`; empty if there is nothing to do, or the line has it already.
 * @param redis the outage of the Redis that keeps the keys of Countersign-Once, or that of callbacks, if it is down
 */
export function adviceOn(event: RequestFinished | CallbackFinished, redis: RedisDown | undefined): string {
  const { server, status, code, cause } = event;
  if (cause === "slow caller" || cause === "shutdown" || code?.endsWith("_unreachable")) return "";
  if (isOfRedis(event) && redis !== undefined) return `; ${describeRedisFailure(redis)}`;
  const fix = event.kind === "callback_finished" ? explainCallback(event.result).fix : code && failures[code].fix;
  if (fix !== undefined) return `; ${fix}`;
  if (event.kind === "callback_finished" || code !== undefined || server === undefined) return "";
  const { environment, auth, contentType } = event;
  const found = explainAnswer(status, { path: `environments.${environment}`, auth, contentType });
  return found === undefined ? "" : `; ${found.detail}; ${found.fix}`;
}

/** The operation; before one is known, method and target. */
function whatOf({ operation, method, target }: RequestFinished): string {
  if (operation !== undefined) return operation;
  if (method === undefined) return "request without a head";
  return target === undefined ? method : `${method} ${target}`;
}

/** The failure's code and the server, or that the server gave this answer, which may look like one of ours. */
function nameOf(event: RequestFinished): string {
  const { code, by, status, operationLabel, server } = event;
  if (code !== undefined) return ` ${code}${code === "upstream_unreachable" ? "" : whereOf(event)}`;
  const isNamed = server !== undefined || isFailedByService(by, status, operationLabel);
  return isNamed ? ` from ${server ?? "the service"}` : "";
}

function whereOf({ server }: RequestFinished | CallbackFinished): string {
  return server === undefined ? "" : ` at ${server}`;
}

/**
 * The access line, as pino would write it. It is put together directly, to save time, since every request and callback has one.
 * @param time ISO 8601
 * @param advice the end of its message
 */
export function writeAccessLine(
  event: RequestFinished | CallbackFinished,
  level: EndLevel,
  time: string,
  advice?: string,
): string {
  return event.kind === "callback_finished"
    ? writeCallbackLine(event, level, time, advice)
    : writeRequestLine(event, level, time, advice);
}

function writeCallbackLine(event: CallbackFinished, level: EndLevel, time: string, advice: string | undefined): string {
  return (
    `{"level":"${level}","time":"${time}","event":"callback_finished"` +
    text(',"environment":', event.environment) +
    text(',"requestId":', event.requestId) +
    text(',"callerRequestId":', event.callerRequestId) +
    text(',"traceId":', event.traceId) +
    text(',"method":', event.method) +
    text(',"target":', event.target) +
    text(',"listener":', event.listener) +
    text(',"caller":', event.caller) +
    text(',"callerAddress":', event.callerAddress) +
    `,"result":"${event.result}","status":${event.status},"outcome":"${event.outcome}"` +
    milliseconds(',"durationMs":', event.durationMs) +
    (event.callerLeft ? ',"callerLeft":true' : "") +
    text(',"form":', event.form) +
    integer(',"requestBytes":', event.requestBytes) +
    text(',"site":', event.site) +
    text(',"key":', event.key) +
    milliseconds(',"applicationMs":', event.applicationMs) +
    (event.isGuarded === undefined ? "" : `,"isGuarded":${event.isGuarded}`) +
    integer(',"responseBytes":', event.responseBytes) +
    text(',"unknownSite":', event.unknownSite) +
    text(',"server":', event.server) +
    text(',"cause":', event.cause) +
    text(',"code":', event.code) +
    `,"message":${quote(describeCallback(event, advice))}}\n`
  );
}

function writeRequestLine(event: RequestFinished, level: EndLevel, time: string, advice: string | undefined): string {
  const { upstreamHeaders } = event;
  return (
    `{"level":"${level}","time":"${time}","event":"request_finished"` +
    text(',"environment":', event.environment) +
    text(',"requestId":', event.requestId) +
    text(',"traceId":', event.traceId) +
    text(',"spanId":', event.spanId) +
    text(',"reference":', event.reference) +
    text(',"site":', event.site) +
    text(',"auth":', event.auth) +
    text(',"operation":', event.operation) +
    `,"status":${event.status},"by":"${event.by}","outcome":"${event.outcome}"` +
    text(',"code":', event.code) +
    text(',"stage":', event.stage) +
    `,"attempts":${event.attempts}` +
    text(',"retry":', event.retry) +
    text(',"retryReason":', event.retryReason) +
    milliseconds(',"durationMs":', event.durationMs) +
    milliseconds(',"upstreamMs":', event.upstreamMs) +
    milliseconds(',"overheadMs":', event.overheadMs) +
    (event.callerLeft ? ',"callerLeft":true' : "") +
    text(',"method":', event.method) +
    text(',"target":', event.target) +
    text(',"listener":', event.listener) +
    text(',"caller":', event.caller) +
    text(',"callerAddress":', event.callerAddress) +
    text(',"callerRequestId":', event.callerRequestId) +
    integer(',"requestBytes":', event.requestBytes) +
    milliseconds(',"tokenWaitMs":', event.tokenWaitMs) +
    text(',"credential":', event.credential) +
    text(',"key":', event.key) +
    text(',"bridged":', event.bridged) +
    text(',"callerSignature":', event.callerSignature) +
    text(',"once":', event.once) +
    text(',"onceFirst":', event.onceFirst) +
    milliseconds(',"connectMs":', event.connectMs) +
    (upstreamHeaders === undefined ? "" : `,"upstreamHeaders":${JSON.stringify(upstreamHeaders)}`) +
    text(',"location":', event.location) +
    text(',"contentType":', event.contentType) +
    text(',"server":', event.server) +
    text(',"cause":', event.cause) +
    integer(',"responseBytes":', event.responseBytes) +
    `,"message":${quote(describeRequest(event, advice))}}\n`
  );
}

/** A field, or nothing if it has no value. */
function text(name: string, value: string | undefined): string {
  return value === undefined ? "" : name + quote(value);
}

function integer(name: string, value: number | undefined): string {
  return value === undefined ? "" : name + value;
}

function milliseconds(name: string, value: number | undefined): string {
  if (value === undefined) return "";
  const microseconds = Math.round(value * 1_000);
  return name + Math.floor(microseconds / 1_000) + thousandths[microseconds % 1_000];
}

/** From nothing to `.999`, as numbers are written: V8 takes 5 % of an order's CPU to write fractions itself. */
const thousandths = Array.from({ length: 1_000 }, (_, count) => String(count / 1_000).slice(1));

/** Rounded as in every line. */
function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** A JSON string (RFC 8259 section 7). Most texts have nothing to escape. */
function quote(value: string): string {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff))
      return JSON.stringify(value);
  }
  return `"${value}"`;
}
