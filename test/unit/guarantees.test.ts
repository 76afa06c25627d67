/** Which headers ask for a guarantee, and which of them are refused. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { checkGuarantees, guarantees } from "../../src/serving/guarantees.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";
import { refusalOf } from "./refusal-of.ts";

const check = (name: string, taken: readonly string[] = [], ...more: string[]) =>
  checkGuarantees(["Host", "localhost", name, "canary-value", ...more], (each) => taken.includes(each));

/** By the best known header of each guarantee. */
const asking: Readonly<Record<string, readonly string[]>> = {
  "Idempotency-Key": [
    "Idempotency-Key",
    "IDEMPOTENCY-KEY",
    "X-Idempotency-Key",
    "Idempotence-Key",
    "X-Idempotence-UUID",
    "Cko-Idempotency-Key",
    "Klarna-Idempotency-Key",
    "x-amz-pay-idempotency-key",
    "X-Idempotent-Id",
    "PayPal-Request-Id",
    "Repeatability-Request-ID",
    "Repeatability-First-Sent",
    "X-Deduplication-Id",
    "Idempotancy-Key",
    "Indempotency-Key",
    "Idemptency-Key",
    "X-Idemopotency-Key",
    "IdempotencyKey",
  ],
  "If-Match": ["If-Match", "if-none-match", "If-Unmodified-Since", "If", "X-If-Match", "If-Schedule-Tag-Match"],
  "Content-Digest": [
    "Content-Digest",
    "Repr-Digest",
    "Unencoded-Digest",
    "Digest",
    "Content-MD5",
    "X-Content-MD5",
    "X-Content-SHA256",
    "X-Amz-Content-Sha256",
  ],
  "Request-Timeout": [
    "Request-Timeout",
    "X-Request-Timeout",
    "X-Timeout-Ms",
    "Timeout",
    "grpc-timeout",
    "Connect-Timeout-Ms",
    "X-Envoy-Upstream-Rq-Timeout-Ms",
    "X-Request-Deadline",
    "X-Server-Timeout",
  ],
  "Dry-Run": ["Dry-Run", "X-Dry-Run", "x-dryrun", "Validate-Only", "X-Validate-Only"],
  "Early-Data": ["Early-Data"],
};

describe.each(Object.entries(asking))("a header like %s", (known, names) => {
  it.each(names)("is refused, unless it is taken: %s", (name) => {
    const status = known === "Early-Data" ? 425 : 400;
    const refusal = refusalOf(() => check(name));
    expect(refusal).toMatchObject({ code: "guarantee_not_given", outcome: "not_sent", status, causedBy: name });
    expect(refusal.message).toMatch(
      new RegExp(`^The header ${name} asks that .*, and Countersign does not see to that\\.`),
    );
    expect(refusal.message).not.toContain("canary");
    expect(() => check(name, [name.toLowerCase()])).not.toThrow();
  });

  it("is refused even if it is taken, where Connection says that it goes no further", () => {
    const [name = ""] = names;
    expect(() => check(name, [name.toLowerCase()], "Connection", `close, ${name}`)).toThrow(name);
  });
});

it("each guarantee has a test, and a row in docs/clients.md with its own words", () => {
  expect(Object.keys(asking)).toEqual(guarantees.map(({ header }) => header));
  const page = readFileSync("docs/clients.md", "utf8");
  for (const { header, asks } of guarantees)
    expect(page).toMatch(new RegExp(`^\\| .*\`${header}\`.* \\| ${asks.replace(/[()]/g, "\\$&")} \\| `, "m"));
});

/** What browsers, libraries, proxies, meshes and collectors send by themselves, and what is a wish only. */
it.each([
  "Accept",
  "Accept-Encoding",
  "Accept-Language",
  "Accept-Charset",
  "Authorization",
  "Cache-Control",
  "Pragma",
  "Connection",
  "Keep-Alive",
  "TE",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
  "HTTP2-Settings",
  "Expect",
  "Content-Type",
  "Content-Length",
  "Content-Language",
  "Cookie",
  "DNT",
  "Date",
  "Forwarded",
  "From",
  "Host",
  "If-Modified-Since",
  "If-Range",
  "Max-Forwards",
  "Origin",
  "Prefer",
  "Priority",
  "Proxy-Authorization",
  "Range",
  "Referer",
  "Sec-Fetch-Mode",
  "Sec-CH-UA",
  "User-Agent",
  "Via",
  "Want-Content-Digest",
  "Want-Digest",
  "Request-Id",
  "X-Request-Id",
  "X-Correlation-Id",
  "traceparent",
  "tracestate",
  "baggage",
  "b3",
  "x-b3-traceid",
  "X-Forwarded-For",
  "X-Real-IP",
  "x-envoy-expected-rq-timeout-ms",
  "x-envoy-attempt-count",
  "x-datadog-trace-id",
  "X-Api-Key",
  "Api-Key",
  "X-Instance-Key",
  "Signature",
  "Signature-Input",
  "X-Signature",
  "Countersign-Timeout-Ms",
  "X-Timeouts",
  "Digested",
])("%s asks for no guarantee", (name) => {
  expect(() => check(name)).not.toThrow();
});

it("a long name is shown shortened, and takes time in proportion to its length", () => {
  expect(refusalOf(() => check(`Idempotency-${"x".repeat(5_000)}`)).message.length).toBeLessThan(500);
  const tookMs = cpuMsOf(() => {
    for (const name of [
      "a-".repeat(8_000),
      `i${"key".repeat(5_000)}`,
      "timeout".repeat(2_000),
      "idempo".repeat(2_000),
    ]) {
      expect(() => check(name)).not.toThrow();
    }
  });
  expect(tookMs).toBeLessThan(100);
});
