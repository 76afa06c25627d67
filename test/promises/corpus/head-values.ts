import type { RawPost } from "../../../testkit/raw-caller.ts";
import { hmacSite, oauthSite } from "../../../testkit/stage.ts";
import type { HeaderCase } from "./headers.ts";

const more = (...lines: string[]): RawPost => ({ more: lines });
const host = (...values: string[]): RawPost => ({ host: values.map((value) => `Host: ${value}`) });
const type = (...values: string[]): RawPost => ({ type: values.map((value) => `Content-Type: ${value}`) });

/** A case for each of these values of a header. */
const each = (what: string, status: number, given: (value: string) => RawPost, values: readonly string[]) =>
  values.map((value): HeaderCase => [`${what} ${JSON.stringify(value.slice(0, 80))}`, given(value), status]);

/** Header lines that mean something to us: Host, the content's, the caller's wishes (RFC 9110 7.2, 8.3, 8.4; product section 2). */
export const headValueCases: readonly HeaderCase[] = [
  // Host (RFC 9112 3.2).
  ["no Host", { host: [] }, 400],
  ["three Hosts", host("127.0.0.1", "127.0.0.1", "127.0.0.1"), 400],
  ["two Hosts with others between", { ...host("127.0.0.1"), more: ["X-Line: 1", "HOST: 127.0.0.1"] }, 400],
  ["a second Host in odd casing", { ...host("127.0.0.1"), more: ["hOsT: evil.example"] }, 400],
  ...each("the foreign Host", 403, host, [
    ...["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "localhost.", "127.0.0.1:x", "127.0.0.2"],
    ...["127.0.0.1:7411:7411", "127.0.0.1, evil.example", "user@127.0.0.1", "evil.example\\127.0.0.1", "[::2]", ""],
    ...["127.0.0.1/create_order", "http://127.0.0.1", "127.0.0.1\\evil.example", "127.0.0.1:80a", "*", "2130706433"],
    ...["127.0.0.1#evil.example", "0.0.0.0"],
  ]),
  ...each("the Host", 200, host, ["localhost", "LocalHost:9", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:7411"]),
  ...each("within blanks the Host", 200, host, ["  127.0.0.1:1  "]),

  // Content-Type and Content-Encoding.
  ["no Content-Type", { type: [] }, 415],
  ["two Content-Types", type("application/json", "application/json"), 415],
  ["two Content-Types in odd casing", { ...type("application/json"), more: ["content-type: application/json"] }, 415],
  ...each("the type", 415, type, [
    ...["json", "text/json", "application/json+x", "application/vnd.api+json", "application/json; charset='utf-8'", ""],
    ...["application/json; charset=latin1", "application/json; charset=utf-8; x=y", "application/json; profile=x"],
    ...["application/json, text/plain", "application/jsonp", "application/problem+json", '"application/json"'],
    ...["application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "application/json; charset=utf-16"],
    ...["application/json; charset=utf-7", "application/json; charset=utf-8; charset=utf-16"],
  ]),
  ...each("the type", 200, type, [
    ...["APPLICATION/JSON", 'application/json ;\tcharset="UTF-8"', 'application/json ; charset="utf-8"'],
    ...["application/json; charset=utf-8 ;", "application/json ", "application/json;charset=utf-8"],
    ...['APPLICATION/JSON;CHARSET="UTF-8"', "application/json;"],
  ]),
  ...each("the coding", 415, (coding) => more(`CONTENT-ENCODING: ${coding}`), ["GZIP", "gzip", "zstd", "br", ""]),
  ["a body in two codings", more("Content-Encoding: gzip", "Content-Encoding: br"), 415],
  ["identity and another coding", more("Content-Encoding: identity, gzip"), 415],
  ["identity is no coding", more("Content-Encoding: Identity"), 200],

  // Wishes.
  ...each("the site", 403, (site) => more(`Countersign-Site: ${site}`), [
    ...["S9999999999", "", oauthSite.toLowerCase(), `${oauthSite}, ${hmacSite}`],
  ]),
  ["two sites", more(`Countersign-Site: ${oauthSite}`, `Countersign-Site: ${hmacSite}`), 400],
  ["a method that the site does not have", more("Countersign-Auth: hmac"), 403],
  ...each("the method", 400, (method) => more(`Countersign-Auth: ${method}`), ["none", "OAuth", "oauth,hmac", ""]),
  ["two methods", more("Countersign-Auth: oauth", "COUNTERSIGN-Auth: oauth"), 400],
  ...each("a timeout of", 400, (ms) => more(`Countersign-Timeout-Ms: ${ms}`), [
    ...["-100", "100.0", "100 ms", "1000000000", "NaN", "0", "99", "5001", "1s", "1e3", "+1000", "0x3e8", ""],
  ]),
  ["two timeouts", more("Countersign-Timeout-Ms: 5000", "COUNTERSIGN-Timeout-Ms: 5000"), 400],
  ...each("the reference", 400, (reference) => more(`Countersign-Reference: ${reference}`), [
    ...["a/b", "a,b", "<a>", "a%20", "\xe9", "", "r".repeat(65), "A 1", "A\xe4"],
  ]),
  ["two references", more("Countersign-Reference: A", "countersign-reference: A"), 400],
  ["a wish that does not exist", more("Countersign-Outcome: answered", "Countersign-Error: none"), 400],
  [
    "wishes that can be met",
    more("countersign-timeout-ms: 5000", "COUNTERSIGN-REFERENCE: A-1", "Countersign-Auth: oauth"),
    200,
  ],
];
