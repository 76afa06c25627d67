import type { RawPost } from "../../../testkit/raw-caller.ts";
import { hmacSite, oauthSite } from "../../../testkit/stage.ts";

/** A header case: the order with these lines, the status, and those of the caller's lines that the service gets. */
export type HeaderCase = readonly [name: string, given: RawPost, status: number, passed?: readonly string[]];

const more = (...lines: string[]): RawPost => ({ more: lines });
const repeated = (count: number, line: (n: number) => string) =>
  more(...Array.from({ length: count }, (_, n) => line(n)));
const connection = (value: string, ...lines: string[]): RawPost => ({
  connection: [`Connection: ${value}`],
  more: lines,
});
/** Host, Content-Type, Connection and Content-Length: every order has these. */
const usualLines = 4;

/** Lines of the caller that never reach the service (RFC 9110 7.6.1; product section 2). */
const dropped: readonly (readonly [name: string, ...lines: string[]])[] = [
  // Credentials of the caller: dropped in every casing and number; the service gets ours only.
  ["a bearer token, shouted", "AUTHORIZATION: BEARER mine"],
  ["two bearer tokens", "Authorization: Bearer mine", "authorization: Bearer mine-too"],
  ["names that servers take for Authorization", "Authorization-: a", "X-Authorization: b", "HTTP_AUTHORIZATION: c"],
  ["credentials for proxies", "Proxy-Authorization: Basic bTptCg==", "PROXY-authorization: x"],
  ["cookies", "Cookie: a=b", "COOKIE: c=d", "Cookie2: $Version=1"],
  ["keys of many makers", "X-Api-Key: m", "Api-Key: m", "X-Auth-Token: m", "X-Amz-Security-Token: m"],
  ["signatures", "Signature: m", "Signature-Input: m", "X-Signature: m"],
  ["certificates of the caller", "X-Client-Cert: m", "Client-Cert: m", "X-Forwarded-Client-Cert: m"],

  // The request's origin and destination: the caller may not set them.
  ["forwarding headers", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1"],
  ["other hosts", "X-Forwarded-Host: evil.example", "X-Host: evil.example", "X-Original-Host: evil.example"],
  ["other targets", "X-Original-URL: /get_order", "X-Rewrite-URL: /get_order", "X-Forwarded-Path: /get_order"],
  ["other methods", "X-HTTP-Method-Override: DELETE", "X-HTTP-Method: PUT", "X-Method-Override: GET"],
  ["a Via of the caller", "Via: 1.1 evil.example, 1.1 countersign"],

  // Hop-by-hop headers, and headers without a meaning here.
  ["keep-alive in its old forms", "Keep-Alive: timeout=99999, max=1", "Proxy-Connection: keep-alive"],
  ["TE and Trailer", "TE: trailers, deflate;q=0.5", "Trailer: Authorization, Host"],
  ["Upgrade without Connection", "Upgrade: h2c, websocket", "HTTP2-Settings: AAMAAABk"],
  ["what the caller accepts", "Accept: text/html", "Accept: */*", "Accept-Encoding: gzip"],
  ["X-Tenant with an underscore", "X_Tenant: a"],
  ["X-Tenant with a longer name", "X-Tenant-Id: a", "X-X-Tenant: a"],
  ["names of JavaScript objects", "__proto__: a", "constructor: b", "toString: c", "hasOwnProperty: d"],
];

/** Header lines that Connection names: none passes. */
const nominated: readonly (readonly [what: string, value: string, ...lines: string[]])[] = [
  ["our Authorization", "close, Authorization"],
  ["all that we set", "close, host, accept, content-type, content-length, via, x-request-id"],
  ["headers that may pass otherwise", "close, user-agent, TRACEPARENT", "User-Agent: shop", "Traceparent: t"],
  ["a header in forwardHeaders", "close,X-Tenant", "X-Tenant: a"],
  ["empty elements and blanks", ",, close ,,\tX-Tenant\t ,", "X-Tenant: a"],
  ["a request id of the caller", "close, X-Request-Id", "x-request-id: theirs"],
  ["itself", "close, connection, keep-alive"],
];

/** Header lines that Countersign does not read, and whether they pass. */
const otherCases: readonly HeaderCase[] = [
  ...dropped.map(([name, ...lines]): HeaderCase => [name, more(...lines), 200]),

  // Hop by hop.
  ...nominated.map(([what, value, ...lines]): HeaderCase => [`Connection: ${what}`, connection(value, ...lines), 200]),
  [
    "Connection on two lines",
    { connection: ["Connection: x-tenant", "CONNECTION: close"], more: ["x-tenant: a"] },
    200,
  ],
  ["Connection nominates nonsense", connection('close, "x-tenant", \\x-tenant', "X-Tenant: a"), 200, ["x-tenant: a"]],
  [
    "Connection nominates parts of a name",
    connection("close, *, x-tenan, tenant", "X-Tenant: a"),
    200,
    ["x-tenant: a"],
  ],

  [
    "Connection on two lines, in odd casing",
    {
      connection: ["Connection: close, USER-AGENT", "connection: x-tenant ,accept-language"],
      more: ["User-Agent: a", "X-Tenant: a", "Accept-Language: a", "TraceState: a=1"],
    },
    200,
    ["tracestate: a=1"],
  ],

  // Lines that pass, as often as they were sent.
  ["User-Agent", more("USER-AGENT: shop/2"), 200, ["user-agent: shop/2"]],
  [
    "languages, twice",
    more("Accept-Language: de", "accept-language: en"),
    200,
    ["accept-language: de", "accept-language: en"],
  ],
  ["a trace", more("traceparent: 00-a-b-01", "tracestate: c=d"), 200, ["traceparent: 00-a-b-01", "tracestate: c=d"]],
  ["a header in forwardHeaders", more("X-TENANT: a"), 200, ["x-tenant: a"]],
  ["a value of 8 KiB", more(`X-Tenant: ${"t".repeat(8_192)}`), 200, [`x-tenant: ${"t".repeat(8_192)}`]],

  // Too many, too long, too odd.
  ["101 lines", repeated(101 - usualLines, (n) => `X-${n}: 1`), 431],
  ["101 lines of one name", repeated(101 - usualLines, () => "X-Line: 1"), 431],
  ...[1_023, 1_024, 1_500].map(
    (count): HeaderCase => [`${count} lines`, repeated(count - usualLines, (n) => `X-${n}: 1`), 431],
  ),
  ["a value of 16 KiB", more(`X-Long: ${"x".repeat(16_384)}`), 431],
  ["a value of 200 KiB", more(`X-Long: ${"x".repeat(204_800)}`), 431],
  ["a target of 16 KiB", { target: `/${"x".repeat(16_384)}` }, 431],
  [
    "100 lines, of which the last is an Authorization",
    more(...Array.from({ length: 99 - usualLines }, (_, n) => `X-${n}: 1`), "Authorization: Bearer mine"),
    200,
  ],
  ["101 empty lines", repeated(101 - usualLines, (n) => `X-${n}:`), 431],
  ["2,500 lines", repeated(2_500, () => "X: 1"), 431],
  ["a name of 17 KiB", more(`${"X".repeat(17_408)}: 1`), 431],
  ["values of 17 KiB in all", repeated(17, (n) => `X-${n}: ${"x".repeat(1_024)}`), 431],
  ["100 lines, 96 of them credentials", repeated(100 - usualLines, () => "Authorization: Bearer mine"), 200],
];

const host = (...values: string[]): RawPost => ({ host: values.map((value) => `Host: ${value}`) });
const type = (...values: string[]): RawPost => ({ type: values.map((value) => `Content-Type: ${value}`) });

/** A case for each of these values of a header. */
const each = (what: string, status: number, given: (value: string) => RawPost, values: readonly string[]) =>
  values.map((value): HeaderCase => [`${what} ${JSON.stringify(value.slice(0, 80))}`, given(value), status]);

/** Header lines that Countersign reads: Host, Content-*, and its own (RFC 9110 7.2, 8.3, 8.4; product section 2). */
const valueCases: readonly HeaderCase[] = [
  // Host (RFC 9112 3.2).
  ["no Host", { host: [] }, 400],
  ["three Hosts", host("127.0.0.1", "127.0.0.1", "127.0.0.1"), 400],
  ["two Hosts with others between", { ...host("127.0.0.1"), more: ["X-Line: 1", "HOST: 127.0.0.1"] }, 400],
  ["a second Host in odd casing", { ...host("127.0.0.1"), more: ["hOsT: evil.example"] }, 400],
  ...each("the foreign Host", 403, host, [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "localhost.",
    "127.0.0.1:x",
    "127.0.0.2",
    "127.0.0.1:7411:7411",
    "127.0.0.1, evil.example",
    "user@127.0.0.1",
    "evil.example\\127.0.0.1",
    "[::2]",
    "",
    "127.0.0.1/create_order",
    "http://127.0.0.1",
    "127.0.0.1\\evil.example",
    "127.0.0.1:80a",
    "*",
    "2130706433",
    "127.0.0.1#evil.example",
    "0.0.0.0",
    "127.0.0.1:",
    "127.0.0.1:123456",
    "::1",
    "[::1",
  ]),
  ...each("the Host", 200, host, ["localhost", "LocalHost:9", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:7411"]),
  ...each("within blanks the Host", 200, host, ["  127.0.0.1:1  "]),

  // Content-Type and Content-Encoding.
  ["no Content-Type", { type: [] }, 415],
  ["two Content-Types", type("application/json", "application/json"), 415],
  ["two Content-Types in odd casing", { ...type("application/json"), more: ["content-type: application/json"] }, 415],
  ...each("the type", 415, type, [
    "json",
    "text/json",
    "application/json+x",
    "application/vnd.api+json",
    "application/json; charset='utf-8'",
    "",
    "application/json; charset=latin1",
    "application/json; charset=utf-8; x=y",
    "application/json; profile=x",
    "application/json, text/plain",
    "application/jsonp",
    "application/problem+json",
    '"application/json"',
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "application/json; charset=utf-16",
    "application/json; charset=utf-7",
    "application/json; charset=utf-8; charset=utf-16",
  ]),
  ...each("the type", 200, type, [
    "APPLICATION/JSON",
    'application/json ;\tcharset="UTF-8"',
    'application/json ; charset="utf-8"',
    "application/json; charset=utf-8 ;",
    "application/json ",
    "application/json;charset=utf-8",
    'APPLICATION/JSON;CHARSET="UTF-8"',
    "application/json;",
  ]),
  ...each("the coding", 415, (coding) => more(`CONTENT-ENCODING: ${coding}`), ["GZIP", "gzip", "zstd", "br", ""]),
  ["a body in two codings", more("Content-Encoding: gzip", "Content-Encoding: br"), 415],
  // Headers that ask for a guarantee (all of them in test/unit/guarantees.test.ts).
  ...each("that asks for a guarantee:", 400, (line) => more(line), [
    'Idempotency-Key: "a"',
    "IDEMPOTENCY-KEY:",
    "X-Idempotency-Key: a",
    "Idempotence-Key: a",
    "If-Match: *",
    "If-None-Match: *",
    "Digest: m",
    "Content-MD5: m",
    "Content-Digest: m",
    "X-Request-Timeout: 5",
    "grpc-timeout: 5S",
  ]),
  ["early data of TLS", more("Early-Data: 1"), 425],

  ["identity and another coding", more("Content-Encoding: identity, gzip"), 415],
  ["identity is no coding", more("Content-Encoding: Identity"), 200],

  // Countersign's own request headers.
  ...each("the site", 403, (site) => more(`Countersign-Site: ${site}`), [
    "S9999999999",
    "",
    oauthSite.toLowerCase(),
    `${oauthSite}, ${hmacSite}`,
  ]),
  ["two sites", more(`Countersign-Site: ${oauthSite}`, `Countersign-Site: ${hmacSite}`), 400],
  ["a method that the site does not have", more("Countersign-Auth: hmac"), 403],
  ...each("the method", 400, (method) => more(`Countersign-Auth: ${method}`), ["none", "OAuth", "oauth,hmac", ""]),
  ["two methods", more("Countersign-Auth: oauth", "COUNTERSIGN-Auth: oauth"), 400],
  ...each("a timeout of", 400, (ms) => more(`Countersign-Timeout-Ms: ${ms}`), [
    "-100",
    "100.0",
    "100 ms",
    "1000000000",
    "NaN",
    "0",
    "99",
    "5001",
    "1s",
    "1e3",
    "+1000",
    "0x3e8",
    "",
  ]),
  ["two timeouts", more("Countersign-Timeout-Ms: 5000", "COUNTERSIGN-Timeout-Ms: 5000"), 400],
  ...each("the reference", 400, (reference) => more(`Countersign-Reference: ${reference}`), [
    "a/b",
    "a,b",
    "<a>",
    "a%20",
    "\xe9",
    "",
    "r".repeat(65),
    "A 1",
    "A\xe4",
  ]),
  ["two references", more("Countersign-Reference: A", "countersign-reference: A"), 400],
  ["Countersign's headers of answers", more("Countersign-Outcome: answered", "Countersign-Error: none"), 400],
  [
    "Countersign's request headers with values that exist",
    more("countersign-timeout-ms: 5000", "COUNTERSIGN-REFERENCE: A-1", "Countersign-Auth: oauth"),
    200,
  ],
];

export const headerCases: readonly HeaderCase[] = [...otherCases, ...valueCases];
