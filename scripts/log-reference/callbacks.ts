import { common, type Reference } from "./line.ts";

const { environment, listener } = common;

/** The lines of callbacks. */
export const callbackLines: Reference<"callback_finished"> = {
  callback_finished: {
    levels: ["info", "warn", "error"],
    when:
      "The access line of listeners for callbacks: one for each, at its end. `error`: the application may or may not have " +
      "taken it. `warn`: it was refused, declined or not guarded, or the application cannot be reached.",
    fields: {
      environment,
      requestId:
        "Ours: `Countersign-Request-Id` of the answer, and `x-request-id` for the application where none came in.",
      callerRequestId: "`x-request-id` as it came in, where it is one id of at most 128 plain characters.",
      traceId: "The trace-id of `traceparent` (W3C Trace Context).",
      method: "As on the request line; absent where the head could not be read.",
      target: "The path as on the request line, up to its query, at most 128 plain characters.",
      listener,
      caller: "The subject of the caller's certificate, where the listener asks for one.",
      callerAddress: "The IP address that the callback came from; absent over a Unix socket.",
      site: "`S…` that the callback names, where it is configured. Anyone can name one in a callback that is not genuine.",
      key: "`K…` of the key that verified it; absent where none did.",
      form: "`json`, `form` or `query`.",
      result:
        "`delivered` (the application answered 2xx), `declined` (it answered something else), `repeated` (it had taken the " +
        "same callback before), why it is not genuine (`signature_wrong`, `timestamp_outside_window`, `site_unknown`, " +
        "`key_missing`, `parameter_missing`), or the failure's code.",
      code: "The failure's code, from the table of failures.",
      cause:
        "What the failure came from: a code (`ECONNREFUSED`), or the name of a parameter or header. Never a value.",
      status: "The HTTP status that was given.",
      outcome: "`answered`, `unknown` or `not_sent`, towards the application.",
      isGuarded:
        "`false` where the store of replays failed, so that the application may get it twice; otherwise absent.",
      durationMs: "From the complete head of the callback to the end of the answer.",
      applicationMs: "The application's share.",
      requestBytes: "Length of the body that came in.",
      responseBytes: "Length of the body that was given.",
      callerLeft: "`true` where the connection was closed before the answer; otherwise absent.",
    },
  },
};
