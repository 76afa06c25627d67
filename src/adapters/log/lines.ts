import type { CallbackFinished, Event, RequestFinished, TokenEvent } from "../../model/events.ts";
import { describeRequest, levelOf, roundToMicroseconds } from "./access-line.ts";

/** How severe a line is. */
export type Level = "trace" | "debug" | "info" | "warn" | "error";

type Fields = Readonly<Record<string, unknown>>;
type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;

/**
 * Every log line is here, one for each event. `trace` and `debug` are for what happens with every request, which the
 * access line sums up.
 */
export function headline(event: Event): readonly [Level, message: string] {
  switch (event.kind) {
    case "request_finished":
      return [levelOf(event), describeRequest(event)];
    case "callback_finished":
      return [callbackLevelOf(event), describeCallback(event)];
    case "tunnel_requested":
      return event.cause === undefined
        ? ["trace", `the proxy opened a tunnel to ${event.destination}`]
        : [throttledLevel(event), `no tunnel to ${event.destination}: ${event.cause}`];
    case "upstream_unauthorized":
      return event.attempt === 1
        ? ["info", `the service answered 401 for ${event.site}`]
        : ["info", `the service answered 401 for ${event.site} again; passed on to the caller`];
    case "clock_skew_measured":
      return ["trace", "clock compared with the service's"];
    case "character_warned":
      return ["warn", `a signed value has a character that the service may refuse: ${event.parameter}`];
    case "token_requested":
      return [event.result === "issued" ? "info" : "warn", describeTokenRequest(event)];
    case "token_adopted":
      return ["debug", "token in use"];
    case "token_lapsed":
      return ["info", "token lapsed"];
    case "credential_switched":
      return ["warn", `another credential set is in use: ${event.to}, no longer ${event.from}`];
    case "credential_removed":
      return ["info", `a credential set is not configured any more: ${event.credential}`];
    case "refresh_suppressed":
      return ["debug", `no refresh of ${event.credential} after a 401 for ${event.site}: ${event.reason}`];
    case "token_cache_read":
      return ["trace", `token looked up: ${event.result}`];
    case "refresh_lock_tried":
      return ["debug", `refresh lock: ${event.result}`];
    case "redis_failed":
      return [throttledLevel(event), `a Redis command failed: ${event.failure}`];
    case "redis_down":
      return ["warn", `Redis is away: ${event.failure}; every replica keeps its own tokens`];
    case "redis_up":
      return ["info", event.awayMs === undefined ? "Redis is there" : "Redis is back; tokens are shared again"];
    case "spans_exported":
      return ["debug", "spans exported"];
    case "spans_lost":
      return [throttledLevel(event), `${event.count} spans were ${event.result}: ${event.cause}`];
    case "spans_delayed":
      return [throttledLevel(event), `the collector took no spans: ${event.cause}; they are sent again`];
    case "started":
      return ["info", "listening"];
    case "configuration_warned":
      return ["warn", event.message];
    case "handshake_failed":
      return [throttledLevel(event), `a caller's TLS handshake failed: ${event.reason}`];
    case "accept_failed":
      return [event.isFirst ? "error" : "debug", `a connection could not be taken: ${event.reason}`];
    case "old_address_used":
      return [throttledLevel(event), `no new address of ${event.host} (${event.cause}); its last one is used`];
    case "process_warned":
      return ["warn", "a warning of Node's, without its text"];
    case "log_lines_dropped":
      return ["warn", `${event.dropped} log lines were dropped: standard output was not read`];
    case "config_applied":
      return ["info", "another configuration is active"];
    case "config_refused":
      return ["error", "a changed configuration was refused as a whole; the one before stays active"];
    case "site_file_refused":
      return [
        "error",
        `the site file ${event.file} was refused; ${event.isServed ? "its site is served as before" : "its site is not served"}`,
      ];
    case "sites_changed":
      return ["info", `sites: ${event.added} added, ${event.changed} changed, ${event.removed} removed`];
    case "config_unchanged":
      return ["info", "configuration and secrets are as they were"];
    case "draining":
      return ["info", "draining"];
    case "stopped":
      return ["info", "stopped"];
    case "defect":
      return ["error", "a defect in Countersign"];
  }
}

/** The level of a failure that repeats: `warn` once, then `debug`. */
function throttledLevel({ isFirst }: { readonly isFirst: boolean }): Level {
  return isFirst ? "warn" : "debug";
}

/** An operator has to act where the application fails or a callback is lost, and wants to know what is refused. */
function callbackLevelOf({ result, outcome, isGuarded }: CallbackFinished): "error" | "warn" | "info" {
  if (outcome === "unknown" || result === "callback_too_old") return "error";
  const isFine = result === "delivered" || result === "repeated";
  return isFine && isGuarded !== false ? "info" : "warn";
}

/** `callback for S1000000001: 502 application_unreachable (ECONNREFUSED)` */
function describeCallback({ site, status, result, cause, isGuarded, callerLeft }: CallbackFinished): string {
  const whom = site === undefined ? "" : ` for ${site}`;
  const why = cause === undefined || cause === result ? "" : ` (${cause})`;
  const unguarded = isGuarded === false ? ", not guarded against a replay" : "";
  return `callback${whom}: ${status} ${result}${why}${unguarded}${callerLeft ? ", caller left" : ""}`;
}

/** `token for S1000000001/blue: refused (HTTP 401, invalid_client), next try in 10 s` */
function describeTokenRequest({ credential, result, status, cause, pauseMs }: TokenRequested): string {
  if (result === "issued") return `token for ${credential}: issued`;
  const known = [status === undefined ? undefined : `HTTP ${status}`, cause].filter((part) => part !== undefined);
  const why = known.length === 0 ? "" : ` (${known.join(", ")})`;
  const next = pauseMs === undefined ? "" : `, next try in ${describePause(pauseMs)}`;
  return `token for ${credential}: ${result}${why}${next}`;
}

/** `37 ms`, `1.6 s` */
function describePause(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

/** The event's own fields; those that are undefined are left out of the line. The access line has its own (access-line.ts). */
export function fieldsOf(event: Exclude<Event, RequestFinished>): Fields {
  const { kind, ...fields } = event;
  const written = Object.entries({ event: kind, ...fields, ...changedFields(event) });
  return Object.fromEntries(
    written.map(([name, value]) => [name, typeof value === "number" ? roundToMicroseconds(value) : value]),
  );
}

/** Fields that the line has otherwise than the event, or not at all. */
function changedFields(event: Exclude<Event, RequestFinished>): Fields {
  switch (event.kind) {
    case "callback_finished":
      return { callerLeft: event.callerLeft || undefined };
    // A line's `status` is a number, and one field of two types breaks the index of a log store.
    case "started":
      return { admin: undefined, status: undefined, adminBind: event.admin, statusBind: event.status };
    case "configuration_warned":
      return { message: undefined };
    default:
      return {};
  }
}
