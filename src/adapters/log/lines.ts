import type { Event, RequestFinished } from "../../events.ts";

/** One line of the log. Fields that are undefined are left out. */
export interface Line {
  readonly level: "debug" | "info" | "warn" | "error" | "fatal";
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Every log line is here; undefined for facts that only metrics count. */
export function describeEvent(event: Event): Line | undefined {
  switch (event.kind) {
    case "request_finished":
      return describeRequest(event);
    case "upstream_unauthorized": {
      const { kind: _, ...fields } = event;
      const message =
        event.attempt === 1 ? "the service answered 401" : "the service answered 401 again; passed on to the caller";
      return { level: "warn", message, fields };
    }
    case "retry_finished": {
      const { environment, site, result } = event;
      return { level: "info", message: `after a 401: ${result}`, fields: { environment, site, result } };
    }
    case "character_warned": {
      const { environment, site, parameter, position } = event;
      const message = "a signed value has a character that the service may refuse";
      return { level: "warn", message, fields: { environment, site, parameter, position } };
    }
    case "token_requested": {
      const { kind: _, ...fields } = event;
      const level = event.result === "issued" ? "info" : "warn";
      return { level, message: `token request: ${event.result}`, fields: roundTimes(fields) };
    }
    case "token_adopted": {
      const { kind: _, ...fields } = event;
      return { level: "debug", message: "token in use", fields: roundTimes(fields) };
    }
    case "token_lapsed": {
      const { environment, credential } = event;
      return { level: "info", message: "token lapsed unused", fields: { environment, credential } };
    }
    case "credential_switched": {
      const { kind: _, ...fields } = event;
      return { level: "warn", message: "another credential set is in use", fields };
    }
    case "refresh_suppressed": {
      const { kind: _, ...fields } = event;
      return { level: "warn", message: `no refresh after a 401: ${event.reason}`, fields };
    }
    case "started": {
      const { kind: _, ...fields } = event;
      return { level: "info", message: "listening", fields };
    }
    case "configuration_warned":
      return { level: "warn", message: event.message, fields: { path: event.path } };
    case "draining": {
      const { signal, inFlight } = event;
      return { level: "info", message: "draining: no new connections", fields: { signal, inFlight } };
    }
    case "stopped":
      return { level: "info", message: "stopped", fields: { drained: event.drained } };
    case "defect": {
      const { where, error } = event;
      return { level: "error", message: "a defect in Countersign", fields: { where, error } };
    }
    case "request_accepted":
    case "clock_skew_measured":
    case "token_used":
    case "token_cache_read":
    case "refresh_lock_tried":
      return undefined;
  }
}

/** The access line. A failure with an unknown outcome is the one that somebody has to act on. */
function describeRequest(event: RequestFinished): Line {
  const { kind: _, operationLabel: __, admitted: ___, callerLeft, ...fields } = event;
  const level = event.outcome === "unknown" ? "error" : event.code === undefined ? "info" : "warn";
  const left = callerLeft ? { callerLeft } : {};
  return { level, message: "request", fields: roundTimes({ ...fields, ...left }) };
}

/** Microseconds are enough. */
function roundTimes(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const round = (value: unknown) => (typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, round(value)]));
}
