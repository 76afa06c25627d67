import type { RawPost } from "../../../testkit/raw-caller.ts";
import { hmacSite, oauthSite } from "../../../testkit/stage.ts";
import type { HeaderCase } from "./headers.ts";

const more = (...lines: string[]): RawPost => ({ more: lines });
const host = (...values: string[]): RawPost => ({ host: values.map((value) => `Host: ${value}`) });
const type = (...values: string[]): RawPost => ({ type: values.map((value) => `Content-Type: ${value}`) });

/** Header lines that mean something to us: Host, the content's, the caller's wishes (RFC 9110 7.2, 8.3, 8.4; product section 2). */
export const headValueCases: readonly HeaderCase[] = [
  // Host (RFC 9112 3.2).
  ["no Host", { host: [] }, 400],
  ["three Hosts", host("127.0.0.1", "127.0.0.1", "127.0.0.1"), 400],
  ["two Hosts with others between", { ...host("127.0.0.1"), more: ["X-Line: 1", "HOST: 127.0.0.1"] }, 400],
  ["a second Host in odd casing", { ...host("127.0.0.1"), more: ["hOsT: evil.example"] }, 400],
  ...[
    ...["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "localhost.", "127.0.0.1:x", "127.0.0.2"],
    ...["127.0.0.1:7411:7411", "127.0.0.1, evil.example", "user@127.0.0.1", "evil.example\\127.0.0.1", "[::2]", ""],
  ].map((foreign): HeaderCase => [`the foreign Host ${foreign}`, host(foreign), 403]),
  ...["localhost", "LocalHost:9", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:7411"].map(
    (own): HeaderCase => [`the Host ${own}`, host(own), 200],
  ),
  ["a Host with a path", host("127.0.0.1/create_order"), 403],
  ["a Host with a scheme", host("http://127.0.0.1"), 403],
  ["a Host with a backslash", host("127.0.0.1\\evil.example"), 403],
  ["a Host with a port that is none", host("127.0.0.1:80a"), 403],
  ["a Host with a fragment", host("127.0.0.1#evil.example"), 403],
  ["a Host of a wildcard", host("*"), 403],
  ["a Host as a number", host("2130706433"), 403],
  ["a Host of all addresses", host("0.0.0.0"), 403],
  ["a Host within blanks", host("  127.0.0.1:1  "), 200],

  // Content-Type and Content-Encoding.
  ["no Content-Type", { type: [] }, 415],
  ["an empty Content-Type", type(""), 415],
  ["two Content-Types", type("application/json", "application/json"), 415],
  ["two types in one line", type("application/json, text/plain"), 415],
  ["a type that begins alike", type("application/jsonp"), 415],
  ["a type that ends alike", type("application/problem+json"), 415],
  ["a type in quotes", type('"application/json"'), 415],
  ["a form", type("application/x-www-form-urlencoded"), 415],
  ["a form of parts", type("multipart/form-data; boundary=b"), 415],
  ["another charset", type("application/json; charset=utf-16"), 415],
  ["an older charset", type("application/json; charset=utf-7"), 415],
  ["two charsets", type("application/json; charset=utf-8; charset=utf-16"), 415],
  ...[
    ...["json", "text/json", "application/json+x", "application/vnd.api+json", "application/json; charset='utf-8'"],
    ...["application/json; charset=latin1", "application/json; charset=utf-8; x=y", "application/json; profile=x"],
  ].map((other): HeaderCase => [`the type ${other}`, type(other), 415]),
  ...[
    ...["APPLICATION/JSON", 'application/json ;\tcharset="UTF-8"', 'application/json ; charset="utf-8"'],
    ...["application/json; charset=utf-8 ;", "application/json ", "application/json;charset=utf-8"],
  ].map((own): HeaderCase => [`the type ${own}`, type(own), 200]),
  ["two Content-Types in odd casing", { ...type("application/json"), more: ["content-type: application/json"] }, 415],
  ["a charset in quotes, in capitals", type('APPLICATION/JSON;CHARSET="UTF-8"'), 200],
  ["a semicolon with nothing behind", type("application/json;"), 200],
  ...["GZIP", "zstd", "br", ""].map(
    (coding): HeaderCase => [`the coding ${coding}`, more(`CONTENT-ENCODING: ${coding}`), 415],
  ),
  ["a gzipped body", more("Content-Encoding: gzip"), 415],
  ["a body in two codings", more("Content-Encoding: gzip", "Content-Encoding: br"), 415],
  ["identity and another coding", more("Content-Encoding: identity, gzip"), 415],
  ["identity is no coding", more("Content-Encoding: Identity"), 200],

  // Wishes.
  ["a site that is not configured", more("Countersign-Site: S9999999999"), 403],
  ["an empty site", more("Countersign-Site:"), 403],
  ["a site in lower case", more(`Countersign-Site: ${oauthSite.toLowerCase()}`), 403],
  ["two sites in one line", more(`Countersign-Site: ${oauthSite}, ${hmacSite}`), 403],
  ["two sites", more(`Countersign-Site: ${oauthSite}`, `Countersign-Site: ${hmacSite}`), 400],
  ["a method that the site does not have", more("Countersign-Auth: hmac"), 403],
  ["a method that does not exist", more("Countersign-Auth: none"), 400],
  ["a method in capitals", more("Countersign-Auth: OAuth"), 400],
  ["a timeout of zero", more("Countersign-Timeout-Ms: 0"), 400],
  ["a timeout just too short", more("Countersign-Timeout-Ms: 99"), 400],
  ["a timeout just too long", more("Countersign-Timeout-Ms: 5001"), 400],
  ["a timeout with a unit", more("Countersign-Timeout-Ms: 1s"), 400],
  ["a timeout with an exponent", more("Countersign-Timeout-Ms: 1e3"), 400],
  ["a timeout with a sign", more("Countersign-Timeout-Ms: +1000"), 400],
  ["a timeout in hexadecimal", more("Countersign-Timeout-Ms: 0x3e8"), 400],
  ["an empty timeout", more("Countersign-Timeout-Ms:"), 400],
  ...["-100", "100.0", "100 ms", "1000000000", "NaN"].map(
    (odd): HeaderCase => [`a timeout of ${odd}`, more(`Countersign-Timeout-Ms: ${odd}`), 400],
  ),
  ["two timeouts", more("Countersign-Timeout-Ms: 5000", "COUNTERSIGN-Timeout-Ms: 5000"), 400],
  ["two methods", more("Countersign-Auth: oauth", "COUNTERSIGN-Auth: oauth"), 400],
  ["a list of methods", more("Countersign-Auth: oauth,hmac"), 400],
  ["an empty method", more("Countersign-Auth:"), 400],
  ...["a/b", "a,b", "<a>", "a%20", "\xe9"].map(
    (odd): HeaderCase => [`the reference ${odd}`, more(`Countersign-Reference: ${odd}`), 400],
  ),
  ["an empty reference", more("Countersign-Reference:"), 400],
  ["a reference of 65 characters", more(`Countersign-Reference: ${"r".repeat(65)}`), 400],
  ["a reference with a blank", more("Countersign-Reference: A 1"), 400],
  ["a reference with a high byte", more("Countersign-Reference: A\xe4"), 400],
  ["two references", more("Countersign-Reference: A", "countersign-reference: A"), 400],
  ["a wish that does not exist", more("Countersign-Outcome: answered", "Countersign-Error: none"), 400],
  [
    "wishes that can be met",
    more("countersign-timeout-ms: 5000", "COUNTERSIGN-REFERENCE: A-1", "Countersign-Auth: oauth"),
    200,
  ],
];
