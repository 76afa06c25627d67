/** Each code of the failure table is answered, logged and counted with its status, outcome and detail. CONNECT and TRACE are among them. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../../simulator/src/service/fault.ts";
import { type FailureCode, failures, requestFailureCodes } from "../../../src/model/errors.ts";
import { type Called, type CallOptions, call, order } from "../../../testkit/call.ts";
import { strangerCertificate } from "../../../testkit/caller-certificates.ts";
import { type Answered, expectFailure } from "../../../testkit/expect-failure.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { ask, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { letItRead } from "../../../testkit/server-side.ts";
import { settlesSoon } from "../../../testkit/settles-soon.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { files } from "../../../testkit/stage/pass-through.ts";
import { bothSite, hmacSite, type Stage, type StageOptions, stage } from "../../../testkit/stage.ts";
import {
  byCertificate,
  callSecurely,
  clientWith,
  stageWithCaller,
  stageWithCallers,
  stageWithTokens,
  token,
} from "./callers.ts";

/** The caller's own key for the order in every case that can carry one. */
const reference = "A-1042";

const withReference = [`Countersign-Reference: ${reference}`];
const withToken = { "Proxy-Authorization": `Bearer ${token}` };

/** Every way in which the caller's own request is at fault: 400 to 431, except the values of its parameters. */
const failuresOfTheRequest = [
  failing("malformed_request", 400, "a head that is not HTTP", /^The request is not well-formed HTTP\/1\.1/, {
    raw: "BLAH blah\r\n\r\n",
    isReferenced: false,
  }),
  failing("malformed_request", 400, "a malformed timeout", /^Countersign-Timeout-Ms must be .* 100 to 5000\./, {
    headers: { "Countersign-Timeout-Ms": "soon" },
  }),
  failing("malformed_request", 400, "a misspelt header", /Refrence is not a header .*; write Countersign-Reference\./, {
    headers: { "Countersign-Refrence": "A-1" },
  }),
  failing("malformed_request", 400, "an answer's header", /a header of Countersign's answers/, {
    headers: { "Countersign-Request-Id": "a" },
  }),
  failing("guarantee_not_given", 400, "a key of another kind", /^The header idempotency-key asks that/i, {
    headers: { "Idempotency-Key": '"order-1"' },
  }),
  failing("guarantee_not_given", 425, "early data of TLS", /^The header early-data asks that/i, {
    headers: { "Early-Data": "1" },
  }),
  failing("body_not_json", 400, "half an object", /^The body is not JSON: /, { body: '{"a":' }),
  failing("duplicate_parameter", 400, "a name twice, once escaped", /"a" is given twice/, {
    body: '{"a":"1","\\u0061":"2"}',
  }),
  failing("secret_in_body", 400, "a secret's name", /^The parameter secret_key is for a secret/, {
    body: { ...order, secret_key: "x" },
  }),
  failing("query_not_allowed", 400, "a query", /query string/, { path: "/create_order?order_amount=1" }),
  failing("target_not_allowed", 400, "a path of odd segments", /^The path \/\/evil is not an operation/, {
    path: "//evil",
  }),
  // It came through HTTP_PROXY.
  ...["GET", "PUT", "POST"].map((method) => {
    const raw = { method, target: "http://other.example/", type: [], more: withReference };
    return failing("target_not_allowed", 403, `a foreign URL, whatever is wrong with the ${method}`, /^/, { raw });
  }),
  failing("target_not_allowed", 400, "a slash too many", /empty segment.* Call \/create_order\./, {
    path: "/create_order/",
  }),
  failing("target_not_allowed", 403, "a foreign Host", /^The Host evil\.example is not one of this listener's/, {
    headers: { Host: "evil.example" },
  }),
  failing("operation_not_allowed", 403, "an operation that is not listed", /^The operation delete_all is not in/, {
    path: "/delete_all",
  }),
  failing(
    "operation_not_allowed",
    403,
    "the service's own path",
    /adds the base path \/json-api itself.* Call \/create_order\./,
    { path: "/json-api/create_order" },
  ),
  failing(
    "site_not_configured",
    403,
    "an unknown site",
    /^The site or key in Countersign-Site, S9999999999, is not configured in environment sandbox/,
    { headers: { "Countersign-Site": "S9999999999" } },
  ),
  failing(
    "auth_not_configured",
    403,
    "HMAC for a site without keys",
    /^Site S1000000001 is not set up for hmac, only for oauth\. Leave Countersign-Auth out/,
    {
      headers: { "Countersign-Auth": "hmac" },
    },
  ),
  ...["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"].map((method) => {
    const detail = new RegExp(`^Operations are called with POST, not with ${method}\\.`);
    return failing("method_not_allowed", 405, method, detail, { method, body: "" });
  }),
  failing("method_not_allowed", 405, "a scrape of this port", / \/metrics is at the port of admin\.bind\./, {
    raw: `GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${withReference}\r\n\r\n`,
  }),
  failing("method_not_allowed", 405, "a probe of this port", / \/livez is at the port of admin\.bind\./, {
    raw: `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${withReference}\r\n\r\n`,
  }),
  failing(
    "method_not_allowed",
    405,
    "a CONNECT, as of a client with an https URL and HTTP_PROXY",
    /^An https:\/\/ URL came through the proxy setting.* Set your base URL to http:\/\/127\.0\.0\.1:\d+\./,
    { raw: `CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n${withReference}\r\n\r\n` },
  ),
  failing(
    "caller_not_authenticated",
    407,
    "no token for a listener that demands one",
    /^The request has no Proxy-Authorization\. This listener wants a token with every request/,
    { open: () => stageWithTokens() },
  ),
  failing(
    "caller_not_known",
    403,
    "a certificate of the authority, with no caller's name",
    /^The client certificate names no caller of this listener\. It has URI:spiffe:.*\/payments2; one of its/,
    { provoke: callAsStranger },
  ),
  failing(
    "caller_not_allowed",
    403,
    "an operation that is not the caller's",
    /^Caller orders may not call create_order: it is not in the caller's operations\. Have it added there, in Countersign's configuration\./,
    { open: () => stageWithCaller({ operations: new Set(["get_order"]) }), headers: withToken },
  ),
  failing(
    "caller_rate_limited",
    429,
    "more requests than the caller's rate",
    /^Caller orders makes more requests than it may: 0\.01 a second \(requestsPerSecond\)\. Send this one again/,
    { open: openWithCallerAtItsRate, headers: withToken, sent: 1 },
  ),
  failing(
    "request_timeout",
    408,
    "a body that does not come",
    /^The body was not complete after 0\.[23] s\. See whether/,
    {
      raw: {
        framing: ["Content-Length: 5"],
        more: [...withReference, "Countersign-Timeout-Ms: 300"],
        body: "{",
      },
    },
  ),
  failing("body_too_large", 413, "one byte too many", /^The body is longer than 262144 bytes/, {
    body: " ".repeat(262_145),
  }),
  failing("media_type_not_supported", 415, "a form", /x-www-form-urlencoded \(curl -d sends that\).* Add -H/, {
    headers: { "content-type": "application/x-www-form-urlencoded" },
  }),
  failing("expectation_not_supported", 417, "an unknown expectation", /100-continue/, {
    raw: { more: [...withReference, "Expect: miracles"] },
  }),
  failing("headers_too_large", 431, "101 lines", /^The request has more than 100 header lines\. Send fewer/, {
    raw: { more: [...withReference, ...Array.from({ length: 96 }, (_, n) => `X-${n}: 1`)] },
    isReferenced: false,
  }),
  failing(
    "headers_too_large",
    431,
    "more than 16 KiB",
    /The headers are longer than 16 KiB\. Send fewer or shorter ones, such as cookies\./,
    {
      raw: { more: [...withReference, `X-Long: ${"x".repeat(16_384)}`] },
      isReferenced: false,
    },
  ),
];

/** Every way in which the parameters are at fault: 422. */
const failuresOfTheParameters = [
  failing("null_value", 422, "null", /^The parameter "note" .* is null/, { body: '{"note":null}' }),
  failing("nested_value", 422, "an array", /^The parameter "note" .* is an array/, { body: '{"note":[]}' }),
  failing("decimal_invalid", 422, "a third digit", /^The parameter "order_amount" is an amount/, {
    body: { ...order, order_amount: "10.005" },
  }),
  failing("number_out_of_range", 422, "1E400", /^The number of parameter "n" takes more than 64/, {
    body: '{"n":1E400}',
  }),
  failing("character_not_allowed", 422, "a space, with HMAC", /^The value of parameter "note" .* at position 2/, {
    body: { ...order, note: "a b" },
    headers: { "Countersign-Site": hmacSite },
  }),
  failing("name_not_allowed", 422, "a space in a name", /^The name "a b" at character 2 is not allowed/, {
    body: '{"a b":"1"}',
  }),
  failing("name_not_allowed", 422, "a header's name", /^The parameter "countersign_once" is named like a header/, {
    body: { ...order, countersign_once: "order-1" },
  }),
  failing("version_mismatch", 422, "another version", /^The body's version is not 3\.0/, {
    body: { ...order, version: "2.0" },
  }),
  failing("site_conflict", 422, "header and body for different sites", /mean different sites or keys/, {
    body: { ...order, site_identifier: hmacSite },
    headers: { "Countersign-Site": bothSite },
    options: { withBoth: true },
  }),
  failing("site_required", 422, "no site named, no default", /name one in the header Countersign-Site\./, {
    options: { environment: { defaultSite: undefined } },
  }),
];

/** A URL on which nobody listens. */
const deadUrl = "http://127.0.0.1:1";

/** A clock that fails once on demand: a defect. */
class BreakableClock extends ShiftedClock {
  isBroken = false;

  override wallMs(): number {
    if (!this.isBroken) return super.wallMs();
    this.isBroken = false;
    throw new Error("the clock is broken");
  }
}

/** Every way in which the service, the authorization server or Countersign itself is at fault: 500 to 504. */
const failuresAfterAdmission = [
  failing(
    "upstream_unreachable",
    502,
    "nobody listens there",
    /^No connection to the service: connections are refused \(ECONNREFUSED\); see that it is up/,
    {
      options: { baseUrl: deadUrl },
    },
  ),
  failing(
    "body_incomplete",
    400,
    "the body of a pass-through request breaks off",
    /^(The connection closed before the body|The request)/,
    { provoke: breakOff, outcome: "unknown" },
  ),
  failing(
    "credentials_refused",
    502,
    "the authorization server knows neither set",
    /^The authorization server refused credential "blue" \(client blue-id, site S1000000001\) and credential "green" /,
    { options: { simulator: { sites: [] } } },
  ),
  failing(
    "upstream_reset",
    502,
    "the connection is reset after the order was read",
    /^The connection to the service broke before the answer was complete/,
    { fault: { kind: "reset", when: "after_reading" }, outcome: "unknown", sent: 1 },
  ),
  failing("upstream_bad_response", 502, "the answer is not HTTP", /^The service's answer is not HTTP\/1\.1/, {
    fault: { kind: "raw", bytes: "220 mail.example ESMTP\r\n" },
    outcome: "unknown",
    sent: 1,
  }),
  failing(
    "token_unavailable",
    503,
    "the authorization server refuses connections",
    /^No token for credential "blue" \(client blue-id, site S1000000001\): no connection to the authorization server: connections are refused \(ECONNREFUSED\); see that it is up, and that host and port in authUrl are right\. Next try in /,
    { headers: { "Countersign-Timeout-Ms": "1000" }, options: { authUrl: deadUrl } },
  ),
  failing("overloaded", 503, "too many requests", /^As many requests are in flight as may be: 1 /, {
    provoke: crowd,
    sent: 1,
  }),
  failing("overloaded", 503, "too many connections", /^As many connections are open as may be: 2 /, {
    open: openWithTwoConnections,
  }),
  failing("draining", 503, "the time of open requests has run out", /shutting down/, { provoke: drainAway }),
  failing(
    "upstream_timeout",
    504,
    "the service does not answer",
    /^No answer came in time\. (?!0\.[0-2])\d+\.\d s had passed by then\. create_order was sent\./,
    { headers: { "Countersign-Timeout-Ms": "300" }, fault: { kind: "hang" }, outcome: "unknown", sent: 1 },
  ),
  failing(
    "upstream_timeout",
    504,
    "the connection is not ready in time",
    /^No connection to the service was ready in time\. (?!0\.[0-2])\d+\.\d s had passed by then\. Nothing was sent\./,
    { open: openBeforeSilence, headers: { "Countersign-Timeout-Ms": "300" } },
  ),
  // The configuration never allows a site that signs without a key.
  failing("internal", 500, "a defect before anything is sent", /failed in a way that it should not/, {
    headers: { "Countersign-Site": hmacSite },
    options: { site: { keys: [], defaultKey: undefined } },
  }),
  failing("internal", 500, "a defect after the order was sent", /failed in a way that it should not/, {
    provoke: breakTheClock,
    outcome: "unknown",
    sent: 1,
  }),
];

const cases = [...failuresOfTheRequest, ...failuresOfTheParameters, ...failuresAfterAdmission];

it.each(cases)("$status $code: $way", async ({ code, status, outcome = "not_sent", detail, sent = 0, ...failure }) => {
  const { staged, answer } = await failure.provoke();
  const given = failure.isReferenced === false ? undefined : reference;
  const requestId = expectFailure(answer, { code, status, outcome, detail, reference: given });
  expect(staged.simulator.counts().apiRequests).toBe(sent);
  const finished = await staged.recorder.nth("request_finished", 1, (event) => event.requestId === requestId);
  expect(finished).toMatchObject({ code, status, outcome, by: "countersign", reference: given, callerLeft: false });
  expect(staged.recorder.count("defect")).toBe(code === "internal" ? 1 : 0);
});

it("a failure's type is a URL of the documentation if docsUrl is set", async () => {
  const staged = await stage({ config: { docsUrl: "https://docs.example/pay" } });
  const { json } = await callBadly(staged, { path: "/delete_all" });
  expect(json.type).toBe("https://docs.example/pay/docs/reference/errors.html#operation_not_allowed");
});

describe("the table of failures", () => {
  it("has been provoked in full", () => {
    const provoked = new Set(cases.map(({ code }) => code));
    expect(requestFailureCodes.filter((code) => !provoked.has(code))).toEqual([]);
  });

  it("has been provoked with every outcome that it names", () => {
    const provoked = new Set(cases.map(({ code, outcome = "not_sent" }) => `${code} ${outcome}`));
    const named = requestFailureCodes.flatMap((code) => failures[code].outcomes.map((outcome) => `${code} ${outcome}`));
    expect(named.filter((pair) => !provoked.has(pair))).toEqual([]);
  });
});

interface Provoked {
  readonly staged: Stage;
  readonly answer: Answered;
}

interface Wrong extends CallOptions {
  readonly body?: unknown;
}

/** A call with the reference, and with `Wrong` in it. */
function callBadly(staged: Stage, { headers = {}, body = order, ...wrong }: Wrong = {}): Promise<Called> {
  return call(staged.url, body, { ...wrong, headers: { "Countersign-Reference": reference, ...headers } });
}

/** The fault: in the call or its bytes, in the stage, or in the service. */
interface Cause extends Wrong {
  /** Default `not_sent`. */
  readonly outcome?: "not_sent" | "unknown";
  /** How many requests the service saw in all; default 0. */
  readonly sent?: number;
  /** False if the head could not be read, so that no reference is known. */
  readonly isReferenced?: false;
  readonly raw?: Parameters<typeof ask>[1];
  readonly options?: StageOptions;
  /** Opens the stage, in place of a plain one with these options. */
  readonly open?: () => Promise<Stage>;
  readonly fault?: FaultAction;
  /** Provokes the failure, in place of one call to a stage. */
  readonly provoke?: () => Promise<Provoked>;
}

/**
 * One way to provoke a failure through the whole proxy; by default one call to a stage.
 * @param way in words, for the test's name
 * @param detail the part of the detail that is special to this way
 */
function failing(code: FailureCode, status: number, way: string, detail: RegExp, cause: Cause) {
  const { outcome, sent, isReferenced, raw, options, open = () => stage(options), fault, provoke, ...wrong } = cause;
  const callOnce = async (): Promise<Provoked> => {
    const staged = await open();
    if (fault !== undefined) staged.simulator.faults.add({ host: "api", ...fault });
    return { staged, answer: await (raw === undefined ? callBadly(staged, wrong) : ask(staged.port, raw)) };
  };
  return { code, status, way, detail, outcome, sent, isReferenced, provoke: provoke ?? callOnce };
}

async function callAsStranger(): Promise<Provoked> {
  const staged = await stageWithCallers(byCertificate({ name: "a", certificates: ["DNS:a.example"] }));
  const more = { "Countersign-Reference": reference };
  return { staged, answer: await callSecurely(staged.port, clientWith(strangerCertificate), more) };
}

async function openWithCallerAtItsRate(): Promise<Stage> {
  const staged = await stageWithCaller({ requestsPerSecond: 0.01 });
  expect((await callBadly(staged, { headers: withToken })).status).toBe(200);
  return staged;
}

async function openWithTwoConnections(): Promise<Stage> {
  const staged = await stage({ limits: { connections: 2 } });
  await RawConnection.open(staged.port);
  await RawConnection.open(staged.port);
  return staged;
}

/** The service accepts connections, but never speaks TLS. */
async function openBeforeSilence(): Promise<Stage> {
  const { port } = await startRawUpstream();
  return stage({ baseUrl: `https://127.0.0.1:${port}/json-api` });
}

async function breakTheClock(): Promise<Provoked> {
  const clock = new BreakableClock();
  const staged = await stage({ surroundings: { clock } });
  const hanging = staged.simulator.faults.add({ host: "api", kind: "hang" });
  const calling = callBadly(staged);
  await hanging.whenPlayed(1);
  clock.isBroken = true;
  hanging.release();
  return { staged, answer: await calling };
}

/** The body of a pass-through request breaks off after its head was sent to the service. */
async function breakOff(): Promise<Provoked> {
  const { connection: caller, ...staged } = await stage("connection", { environment: { passThrough: [files] } });
  const framing = ["Content-Length: 100"];
  caller.write(rawPost({ method: "PUT", target: "/files/a", framing, more: withReference, body: "some" }));
  await whenInFlight(staged, 1);
  await delay(100);
  caller.socket.end();
  const [answer = expect.unreachable()] = readAnswers(await caller.ended());
  return { staged, answer };
}

/** The only place is taken by a request that hangs. */
async function crowd(): Promise<Provoked> {
  const staged = await stage({ limits: { inFlightPerEnvironment: 1 } });
  const hanging = staged.simulator.faults.add({ host: "api", kind: "hang" });
  const first = call(staged.url);
  await hanging.whenPlayed(1);
  const answer = await callBadly(staged);
  hanging.release();
  await first;
  return { staged, answer };
}

/** A request that began before SIGTERM is complete only when the time for open requests has run out. */
async function drainAway(): Promise<Provoked> {
  const { connection: late, ...staged } = await stage("connection");
  const bytes = rawPost({ connection: [], more: withReference });
  late.write(bytes.slice(0, 20));
  // Connections are accepted in their order, so the late one has been read when this one is answered.
  await letItRead(staged);
  const stopping = staged.proxy.stop("SIGTERM");
  staged.clock.push(staged.config.timeouts.requestMs + 500);
  expect(await settlesSoon(stopping, staged.adminUrl)).toBe(false);
  const [answer = expect.unreachable()] = readAnswers(await late.write(bytes.slice(20)).ended());
  late.socket.end();
  await stopping;
  return { staged, answer };
}
