import { expect } from "vitest";
import { order } from "../../../testkit/call.ts";
import { strangerCertificate } from "../../../testkit/caller-certificates.ts";
import { byCalling, callBadly, type FailureCase, reference, type Wrong } from "../../../testkit/failure-case.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { bothSite, hmacSite, type StageOptions, stageProxy } from "../../../testkit/stage.ts";
import { callSecurely } from "./caller-over-tls.ts";
import {
  byCertificate,
  clientWith,
  stageWithCaller,
  stageWithCallers,
  stageWithTokens,
  token,
} from "./stage-with-callers.ts";

const withReference = [`Countersign-Reference: ${reference}`];
const withToken = { "Proxy-Authorization": `Bearer ${token}` };
const bodyBytes = 262_144;

/** Every way in which the caller's own request is at fault: 400 to 431, but for the values of its parameters. */
export const failuresOfTheRequest: readonly FailureCase[] = [
  {
    code: "malformed_request",
    way: "a head that is not HTTP",
    status: 400,
    detail: /^The request is not well-formed HTTP\/1\.1/,
    isReferenced: false,
    provoke: asking("BLAH blah\r\n\r\n"),
  },
  failing("malformed_request", 400, "an impossible wish", /^Countersign-Timeout-Ms must be .* 100 to 5000\./, {
    headers: { "Countersign-Timeout-Ms": "soon" },
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
  failing("target_not_allowed", 403, "a foreign Host", /^The Host evil\.example is not one of this listener's/, {
    headers: { Host: "evil.example" },
  }),
  failing("operation_not_allowed", 403, "an operation that is not listed", /^The operation delete_all is not in/, {
    path: "/delete_all",
  }),
  failing(
    "site_not_configured",
    403,
    "an unknown site",
    /^The site or key in Countersign-Site, S9999999999, is not configured in environment sandbox/,
    { headers: { "Countersign-Site": "S9999999999" } },
  ),
  failing("auth_not_configured", 403, "HMAC for a site without keys", /^Site S1000000001 is not set up for hmac/, {
    headers: { "Countersign-Auth": "hmac" },
  }),
  failing("method_not_allowed", 405, "GET", /^GET is not used by the service/, { method: "GET", body: "" }),
  {
    code: "caller_not_authenticated",
    way: "no token for a listener that asks for one",
    status: 407,
    detail: /^The request has no Proxy-Authorization\. This listener wants a token with every request/,
    async provoke() {
      const stage = await stageWithTokens();
      return { stage, answer: await callBadly(stage) };
    },
  },
  {
    code: "caller_not_known",
    way: "a certificate of the authority, of no caller",
    status: 403,
    detail: /^The client certificate names no caller of this listener\. It has URI:spiffe:.*\/payments2; one of its/,
    async provoke() {
      const stage = await stageWithCallers(byCertificate({ name: "a", certificates: ["DNS:a.example"] }));
      const more = { "Countersign-Reference": reference };
      return { stage, answer: await callSecurely(stage.port, clientWith(strangerCertificate), more) };
    },
  },
  {
    code: "caller_not_allowed",
    way: "an operation that is not the caller's",
    status: 403,
    detail: /^Caller orders may not call create_order: it is not in the caller's operations\./,
    async provoke() {
      const stage = await stageWithCaller({ operations: new Set(["get_order"]) });
      return { stage, answer: await callBadly(stage, { headers: withToken }) };
    },
  },
  {
    code: "caller_rate_limited",
    way: "more requests than the caller may make",
    status: 429,
    detail:
      /^Caller orders makes more requests than it may: 0\.01 a second \(requestsPerSecond\)\. Send this one again/,
    sent: 1,
    async provoke() {
      const stage = await stageWithCaller({ requestsPerSecond: 0.01 });
      expect((await callBadly(stage, { headers: withToken })).status).toBe(200);
      return { stage, answer: await callBadly(stage, { headers: withToken }) };
    },
  },
  {
    code: "request_timeout",
    way: "a body that does not come",
    status: 408,
    detail: /^The body was not complete after 0\.[23] s\./,
    provoke: asking({
      framing: ["Content-Length: 5"],
      more: [...withReference, "Countersign-Timeout-Ms: 300"],
      body: "{",
    }),
  },
  failing("body_too_large", 413, "one byte too many", /^The body is longer than 262144 bytes/, {
    body: " ".repeat(bodyBytes + 1),
  }),
  failing("media_type_not_supported", 415, "a form", /x-www-form-urlencoded \(curl -d sends that\).* Add -H/, {
    headers: { "content-type": "application/x-www-form-urlencoded" },
  }),
  {
    code: "expectation_not_supported",
    way: "an unknown expectation",
    status: 417,
    detail: /100-continue/,
    provoke: asking({ more: [...withReference, "Expect: miracles"] }),
  },
  {
    code: "headers_too_large",
    way: "101 lines",
    status: 431,
    detail: /^The request has more than 100 header lines/,
    isReferenced: false,
    provoke: asking({ more: [...withReference, ...Array.from({ length: 96 }, (_, n) => `X-${n}: 1`)] }),
  },
  {
    code: "headers_too_large",
    way: "more than 16 KiB",
    status: 431,
    detail: /16 KiB/,
    isReferenced: false,
    provoke: asking({ more: [...withReference, `X-Long: ${"x".repeat(16_384)}`] }),
  },
];

/** Every way in which the parameters are at fault: 422. */
export const failuresOfTheParameters: readonly FailureCase[] = [
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
  failing("version_mismatch", 422, "another version", /^The body's version is not 3\.0/, {
    body: { ...order, version: "2.0" },
  }),
  failing("site_conflict", 422, "header and body of two minds", /mean different sites or keys/, {
    body: { ...order, site_identifier: hmacSite },
    headers: { "Countersign-Site": bothSite },
    options: { withBoth: true },
  }),
  failing("site_required", 422, "no site named, no default", /name one in the header Countersign-Site\./, {
    options: { environment: { defaultSite: undefined } },
  }),
];

function failing(
  code: FailureCase["code"],
  status: number,
  way: string,
  detail: RegExp,
  { options = {}, ...wrong }: Wrong & { readonly options?: StageOptions },
): FailureCase {
  return { code, status, way, detail, provoke: byCalling(wrong, options) };
}

/** Its bytes are the test's. */
function asking(request: Parameters<typeof ask>[1]): FailureCase["provoke"] {
  return async () => {
    const stage = await stageProxy();
    return { stage, answer: await ask(stage.port, request) };
  };
}
