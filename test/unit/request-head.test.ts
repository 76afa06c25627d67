/** The checks of a request's head and their order: the first failed check is reported. */
import { describe, expect, it } from "vitest";
import { checkHead } from "../../src/serving/request-head.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";
import type { HeaderLine } from "./header-line.ts";
import { refusalOf } from "./refusal-of.ts";

const url = "http://127.0.0.1:7411";
const host: HeaderLine = ["Host", "localhost:7411"];
const json: HeaderLine = ["Content-Type", "application/json"];
const check = (headers: readonly HeaderLine[], method = "POST", target = "/create_order") =>
  checkHead({ method, target, headers: headers.flat() }, { url, environment: { passThrough: undefined } });

it("returns the only Host unchanged", () => {
  expect(check([json, ["hOsT", "LocalHost:1"]])).toBe("LocalHost:1");
});

it("a CONNECT with another cause than an https URL is not explained by one", () => {
  const { message } = refusalOf(() => check([host], "CONNECT", "api.example:80"));
  expect(message).toContain("as some clients do for http:// URLs too");
  expect(message).toContain("Set your base URL to http://127.0.0.1:7411.");
  expect(message).not.toContain("https:");
});

it.each([
  ["missing", [json], "The Host header is missing."],
  ["there twice", [host, json, ["HOST", "localhost"]], "There are several Host headers."],
] as const)("the Host %s", (_, headers, message) => {
  expect(refusalOf(() => check(headers))).toMatchObject({ code: "malformed_request", status: 400, message });
});

it.each(["gzip", "xchunked", '"chunked"', "chunked, gzip", "chunked,", ""])(
  "Transfer-Encoding: %s has no recognisable end (all spellings are in the corpora)",
  (value) => {
    const failure = refusalOf(() => check([host, json, ["TRANSFER-ENCODING", value]]));
    expect(failure).toMatchObject({ code: "malformed_request", status: 400 });
  },
);

describe("the Content-Type", () => {
  it.each([
    [[], /^Content-Type is missing; Countersign takes application\/json\. Add -H/],
    [
      ["application/x-www-form-urlencoded"],
      /^Content-Type is application\/x-www-form-urlencoded \(curl -d sends that\);/,
    ],
    [["Application/X-WWW-Form-URLEncoded; charset=utf-8"], /\(curl -d sends that\);/],
    [["text/json"], /^Content-Type is text\/json; Countersign takes application\/json\. Add -H '.*'\.$/],
    [
      ["application/json; charset=iso-8859-1"],
      /^Content-Type names another charset; send the body in UTF-8, and leave it out\.$/,
    ],
    [["application/json;v=2"], /^Content-Type has another parameter than charset=utf-8; leave it out\.$/],
    [
      ["application/json; charset=utf-8; v=2"],
      /^Content-Type has another parameter than charset=utf-8; leave it out\.$/,
    ],
    [["application/json-patch; charset=x"], /^Content-Type is not JSON; .* Add -H '.*'\.$/],
    [["no type at all"], /^Content-Type is not JSON; /],
    [["application/json", "application/json"], /^Content-Type was given more than once;.* once\.$/],
  ])("%j is explained", (types, message) => {
    const headers = types.map((type): HeaderLine => ["content-TYPE", type]);
    expect(refusalOf(() => check([host, ...headers])).message).toMatch(message);
  });

  it("takes time in proportion to its length", () => {
    const tookMs = cpuMsOf(() => {
      for (const type of [`application/json${" ".repeat(16_000)}x`, `application/json;${"\t".repeat(16_000)}x`]) {
        expect(refusalOf(() => check([host, ["Content-Type", type]])).code).toBe("media_type_not_supported");
      }
    });
    // A quadratic pattern takes half a second for these; a linear one well under a millisecond.
    expect(tookMs).toBeLessThan(100);
  });
});

it.each([
  [[json, ["Content-Encoding", "gzip"]], "media_type_not_supported", ["Accept-Encoding", "identity"]],
  [[["Content-Type", "text/plain"]], "media_type_not_supported", ["Accept", "application/json"]],
  [[json, ["Transfer-Encoding", "gzip, chunked"]], "media_type_not_supported", []],
] as const)("a refusal names what is taken (RFC 9110 sections 12.5.3 and 15.5.16) %#", (lines, code, headers) => {
  expect(refusalOf(() => check([host, ...lines]))).toMatchObject({ code, headers });
});

it("an OPTIONS of a browser is told that no web page may call", () => {
  expect(refusalOf(() => check([host, ["Access-Control-Request-Method", "POST"]], "OPTIONS")).message).toContain(
    "A browser asks this. No web page may call here",
  );
  expect(refusalOf(() => check([host], "OPTIONS")).message).not.toContain("browser");
});

it("the first fault is reported, in this order: method, Host, Expect, codings, type", () => {
  const expectX: HeaderLine = ["Expect", "x"];
  const gzip: HeaderLine = ["Content-Encoding", "gzip"];
  expect(refusalOf(() => check([expectX, gzip], "GET")).code).toBe("method_not_allowed");
  expect(refusalOf(() => check([expectX, gzip])).code).toBe("malformed_request");
  expect(refusalOf(() => check([host, expectX, gzip])).code).toBe("expectation_not_supported");
  expect(refusalOf(() => check([host, gzip])).message).toContain("compressed");
});
