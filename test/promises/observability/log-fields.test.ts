/** Every field that a log line can have is in docs/reference/log.md, and every field there can occur: the compiler checks the samples. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Event } from "../../../src/model/events.ts";
import { logOf } from "../../../testkit/log-lines.ts";

const environment = "sandbox";
const site = "S1";
const credential = "S1/blue";
const requestId = "r";
const ofSet = { environment, credential };

const finished = {
  kind: "request_finished",
  environment,
  requestId,
  traceId: "t",
  spanId: "s",
  reference: "A-1",
  site,
  auth: "oauth",
  bridged: "token_unavailable",
  operation: "create_order",
  operationLabel: "create_order",
  status: 200,
  by: "service",
  outcome: "answered",
  code: "upstream_reset",
  stage: "send",
  attempts: 1,
  retry: "not_possible",
  retryReason: "paused",
  durationMs: 1,
  upstreamMs: 1,
  overheadMs: 1,
  callerName: "payments",
  callerLeft: true,
  cause: "ECONNRESET",
  method: "POST",
  target: "/create_order",
  listener: ":7411",
  caller: "orders",
  callerAddress: "127.0.0.1",
  callerRequestId: "c",
  credential,
  key: "K1",
  callerSignature: "valid",
  once: "recorded",
  onceFirst: "r",
  onceName: "n",
  tokenWaitMs: 1,
  connectMs: 1,
  requestBytes: 1,
  responseBytes: 1,
  upstreamHeaders: { "x-request-id": "u" },
  location: "login.example",
  contentType: "text/html",
  server: "https://api.example",
} as const;
const callback = {
  kind: "callback_finished",
  environment,
  requestId,
  callerRequestId: "c",
  traceId: "t",
  method: "POST",
  target: "/callbacks",
  listener: ":7414",
  caller: "ingress",
  callerAddress: "127.0.0.1",
  site,
  key: "K1",
  form: "json",
  unknownSite: "S9",
  server: "http://app.example",
  result: "delivered",
  code: "application_failed",
  cause: "ECONNRESET",
  status: 200,
  outcome: "answered",
  isGuarded: true,
  durationMs: 1,
  applicationMs: 1,
  requestBytes: 1,
  responseBytes: 1,
  callerLeft: true,
} as const;
const tunnel = {
  kind: "tunnel_requested",
  environment,
  proxy: "proxy.example:3128",
  destination: "api.example:443",
  result: "unauthorized",
  cause: "PROXY_STATUS_407",
  durationMs: 1,
} as const;
const requested = {
  kind: "token_requested",
  ...ofSet,
  reason: "due",
  durationMs: 1,
  status: 401,
  cause: "invalid_client",
  pauseMs: 1,
  assertionRemainingMs: 1,
  server: "https://login.example",
  detail: "https://login.example refuses the set (401, invalid_client)",
  fix: "compare client id",
} as const;

const samples: Samples = {
  request_finished: [
    { ...finished, code: undefined, contentType: undefined },
    finished,
    { ...finished, outcome: "unknown" },
  ],
  outcome_settled: [
    { kind: "outcome_settled", environment, site, requestId, reference: "A-1", found: true, note: "n", key: "used" },
  ],
  callback_finished: [
    callback,
    { ...callback, isGuarded: false },
    { ...callback, result: "signature_wrong", outcome: "not_sent" },
    { ...callback, result: "application_failed", outcome: "unknown" },
  ],
  outage_ended: [{ kind: "outage_ended", environment, what: "request", lastedMs: 1, failed: 2, total: 3 }],
  tunnel_requested: [...twice(tunnel), { ...tunnel, result: "opened", cause: undefined, isFirst: false }],
  upstream_unauthorized: [
    {
      kind: "upstream_unauthorized",
      environment,
      site,
      server: "https://api.example",
      auth: "oauth",
      attempt: 1,
      credential,
      requestId,
      reference: "A-1",
      upstreamHeaders: {},
    },
  ],
  clock_skew_measured: [1, 31, 1].map((skewSeconds) => ({ kind: "clock_skew_measured", environment, skewSeconds })),
  character_warned: [{ kind: "character_warned", environment, site, parameter: "a", position: 1 }],
  token_requested: [
    { ...requested, result: "issued", isEarly: undefined },
    { ...requested, result: "refused", isEarly: undefined },
    { ...requested, result: "failed", isEarly: true },
  ],
  token_adopted: [{ kind: "token_adopted", ...ofSet, issuedHere: true, reason: "due", lifetimeMs: 1, remainingMs: 1 }],
  token_lapsed: (["expired", "changed", "removed"] as const).map((reason) => ({
    kind: "token_lapsed",
    ...ofSet,
    reason,
  })),
  credential_switched: [{ kind: "credential_switched", environment, site, from: "S1/blue", to: "S1/green" }],
  credential_removed: [{ kind: "credential_removed", ...ofSet }],
  refresh_suppressed: [{ kind: "refresh_suppressed", ...ofSet, site, reason: "paused" }],
  token_cache_read: [{ kind: "token_cache_read", tier: "redis", result: "hit" }],
  refresh_lock_tried: [{ kind: "refresh_lock_tried", result: "held" }],
  redis_failed: twice({ kind: "redis_failed", node: "cache", failure: "timeout" }),
  redis_evicts: [0, 3].map((evicted) => ({ kind: "redis_evicts", node: "cache", policy: "allkeys-lru", evicted })),
  redis_down: [
    {
      kind: "redis_down",
      node: "cache",
      address: "redis://cache:6379",
      failure: "connection",
      cause: "ECONNREFUSED",
      awayMs: 1,
    },
  ],
  spans_exported: [{ kind: "spans_exported", count: 1 }],
  spans_lost: twice({ kind: "spans_lost", result: "dropped", count: 1, cause: "no room" }),
  spans_delayed: twice({ kind: "spans_delayed", waiting: 1, cause: "HTTP 503", pauseMs: 1 }),
  redis_up: [{ kind: "redis_up", node: "cache", awayMs: 1 }],
  started: [{ kind: "started", version: "1", configHash: "h", routes: [], admin: ":1", status: ":2" }],
  configuration_warned: [
    { kind: "configuration_warned", code: "secret_short", path: "a.b", message: "short", more: 1 },
  ],
  handshake_failed: twice({ kind: "handshake_failed", listener: ":7411", reason: "CERT_HAS_EXPIRED" }),
  accept_failed: twice({ kind: "accept_failed", listener: ":7411", reason: "EMFILE" }),
  config_applied: [{ kind: "config_applied", hash: "h", previousHash: "g", trigger: "sighup", routes: [] }],
  config_refused: [{ kind: "config_refused", hash: "h", trigger: "sighup", problems: [], problemCount: 0 }],
  config_unchanged: [{ kind: "config_unchanged", hash: "h" }],
  site_file_refused: [
    { kind: "site_file_refused", environment: "e", file: "S1.yaml", problems: [], isServed: true, more: 1 },
    { kind: "site_file_refused", environment: "e", file: "S1.yaml", problems: [], isServed: false, more: 1 },
  ],
  sites_changed: [{ kind: "sites_changed", environment: "e", added: 1, changed: 1, removed: 1, names: ["S1"] }],
  draining: [{ kind: "draining", signal: "SIGTERM", inFlight: 1 }],
  stopped: [{ kind: "stopped", drained: true }],
  log_lines_dropped: [{ kind: "log_lines_dropped", dropped: 3 }],
  old_address_used: twice({ kind: "old_address_used", host: "api.example", cause: "DNS_TIMEOUT", ageMs: 1 }),
  process_warned: [{ kind: "process_warned", warning: "DeprecationWarning [DEP0001]" }],
  defect: [{ kind: "defect", where: "send", requestId, error: "TypeError" }],
};

/** The page's text on all lines, on fields that several kinds share, and on each kind under its heading. */
const [front = "", ...sections] = readFileSync("docs/reference/log.md", "utf8").split(/^### /m);
const [general = "", shared = ""] = front.split(/^## Shared fields$/m);
const documented = new Map(sections.map((text) => [/^`(\w+)`\n/.exec(text)?.[1], text]));
const fieldsOf = (text: string) => [...text.matchAll(/^\* `(\w+)`: \S/gm)].map(([, name]) => name);
const sharedFieldsOf = (text: string) =>
  (/^Shared: (.+)\.$/m.exec(text)?.[1] ?? "").split(", ").flatMap((name) => /^`(\w+)`$/.exec(name)?.[1] ?? []);

it("the page has each kind of line, and no others", () => {
  expect([...documented.keys()].sort()).toEqual(Object.keys(samples).sort());
});

it("the page has each shared field once, and at least two kinds of line have it", () => {
  const uses = sections.flatMap(sharedFieldsOf);
  const isShared = (name: string | undefined) => uses.filter((used) => used === name).length >= 2;
  expect(fieldsOf(shared).filter(isShared).sort()).toEqual([...new Set(uses)].sort());
  expect(fieldsOf(shared).filter((name) => !isShared(name))).toEqual([]);
});

describe.each(Object.keys(samples) as Kind[])("a line of %s", (kind) => {
  const lines = logOf(samples[kind] as readonly Event[], "trace").of(kind);
  const section = documented.get(kind) ?? "";

  it("has the documented fields, and no others", () => {
    const names = new Set(lines.flatMap((line) => Object.keys(line)));
    expect([...fieldsOf(general), ...sharedFieldsOf(section), ...fieldsOf(section)].sort()).toEqual([...names].sort());
  });

  it("has the documented levels, and no others", () => {
    const [, levels = ""] = /^`\w+`\n\n((?:`\w+`(?:, )?)+)\. /.exec(section) ?? [];
    expect(levels.split(", ").sort()).toEqual([...new Set(lines.map(({ level }) => `\`${level}\``))].sort());
  });

  it("has a message that says more than the name of its event", () => {
    for (const { message } of lines) expect(message).toMatch(/^[^\n]{5,}$/);
  });
});

type Kind = Event["kind"];

/** Events of each kind with every field that the kind can have; as many as are needed for all its levels. */
type Samples = { readonly [K in Kind]: readonly Required<Extract<Event, { kind: K }>>[] };

/** A failure for the first time, and again: its level differs. */
function twice<const Failure extends object>(failure: Failure) {
  return [
    { ...failure, isFirst: true },
    { ...failure, isFirst: false },
  ] as const;
}
