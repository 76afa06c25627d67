import type { RequestFinished } from "../../src/model/events.ts";
import { common, type Reference } from "./line.ts";

const { environment, requestId, reference, site, auth, credential, upstreamHeaders, listener } = common;

type Kinds =
  | "request_accepted"
  | RequestFinished["kind"]
  | "upstream_unauthorized"
  | "retry_finished"
  | "clock_skew_measured"
  | "character_warned";

/** The lines of requests. */
export const requestLines: Reference<Kinds> = {
  request_finished: {
    levels: ["info", "warn", "error"],
    when:
      "The access line: one for each request, at its end. `error`: the outcome is unknown. `warn`: Countersign failed or " +
      "refused to serve it, or the service answered 401, 429 or 5xx.",
    fields: {
      environment,
      requestId,
      callerRequestId: "The caller's own `x-request-id`, where it is one id of at most 128 plain characters.",
      traceId:
        "The trace-id of `traceparent` (W3C Trace Context), where the caller sent one; with `tracing` always that of its trace.",
      spanId: "The request's own span, where its trace is recorded (docs/tracing.md).",
      reference,
      method: "As on the request line; absent where the head could not be read.",
      target:
        "The path as on the request line, up to its query or to any other character that no operation has, at most 128 " +
        "characters. Of a URL the scheme and the host alone; absent for `CONNECT`.",
      listener,
      callerAddress: "The caller's IP address; absent over a Unix socket.",
      caller:
        "Who called: its name in the configuration. Where it has none, the subject of its certificate, or else the " +
        "certificate's first name.",
      site: "`S…`, once it is known.",
      auth,
      credential: "The credential set whose token was attached last, as `<site>/<name>`.",
      key: "`K…` of the key that signed.",
      callerSignature:
        "Where the site has `checkCallerSignature`: `valid`, `invalid`, `unknown_key`, `incomplete` or `missing` " +
        "(docs/moving-from-hmac.md).",
      once:
        "What came of its `Countersign-Once`: `recorded`, `freed`, `unrecorded`, or why it was refused: `already_sent`, " +
        "`in_progress`, `key_reused`, `unavailable` (docs/once.md).",
      onceFirst: "Id of the request that has its `Countersign-Once`.",
      operation: "As called; at most 128 characters.",
      status: "The HTTP status that the caller was given; 499 where it left before anything was sent.",
      by: "Who answered: `service` or `countersign`.",
      outcome: "`answered`, `unknown` or `not_sent`, over all attempts together.",
      code: "The failure's code, from the table of failures.",
      cause:
        "What the failure came from, as far as the caller reads it: a code (`ECONNREFUSED`, `ENOTFOUND`, `CERT_HAS_EXPIRED`, " +
        "`invalid_client`), the name of a parameter, header or setting, or a foreign host. Never a value.",
      stage: "The step at which it ended, such as `read_body`, `await_token`, `send` or `stream_answer`.",
      attempts: "How often it was handed to the connection to the service: 0, 1 or 2.",
      durationMs: "From the complete head of the request to the end of the answer.",
      tokenWaitMs: "All waits for a token together; with OAuth only.",
      connectMs: "Until a connection to the service was ready, new or kept, all attempts together.",
      upstreamMs: "The service's share: all attempts together, from connecting to the last piece of the answer.",
      overheadMs: "The proxy's own share: without the service, the wait for a token and the caller's sending.",
      requestBytes: "Length of the body that the caller sent.",
      responseBytes: "Length of the body that the caller was given, as far as it got.",
      upstreamHeaders,
      callerLeft: "`true` where the caller closed its connection before it had its answer; otherwise absent.",
    },
  },
  request_accepted: {
    levels: ["trace"],
    when: "A request was admitted.",
    fields: { environment, requestId },
  },
  upstream_unauthorized: {
    levels: ["warn"],
    when: "The service answered 401 to an attempt.",
    fields: {
      environment,
      site,
      auth,
      attempt: "1, or 2 for the retry with another token.",
      credential,
      requestId,
      reference,
      upstreamHeaders,
    },
  },
  retry_finished: {
    levels: ["info", "warn"],
    when: "The result of a second attempt after a 401; `warn` unless it was cured.",
    fields: {
      environment,
      site,
      result: "`cured`, `refused` (401 again), `failed` (no answer) or `not_possible` (no other token was to be had).",
      requestId,
    },
  },
  character_warned: {
    levels: ["warn"],
    when: "`characters: warn` let a signed value through that the service may refuse.",
    fields: {
      environment,
      site,
      parameter: "Its name; never its value.",
      position: "Of the character in the value, from 1.",
    },
  },
  clock_skew_measured: {
    levels: ["trace"],
    when: "The service's `Date` was compared with our clock.",
    fields: { environment, skewSeconds: "Our clock minus the service's." },
  },
};
