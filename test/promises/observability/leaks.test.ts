/** Secrets, tokens, assertions, signatures and parameter values are sent upstream and appear nowhere else. */
import { inspect } from "node:util";
import { afterEach, expect, it } from "vitest";
import { describeDefect } from "../../../src/model/defect.ts";
import type { FailureCode } from "../../../src/model/errors.ts";
import { call, get, order } from "../../../testkit/call.ts";
import { clientKey } from "../../../testkit/certificates.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { tokenFor } from "../../../testkit/platform-token.ts";
import { sendRaw } from "../../../testkit/raw-caller.ts";
import { type RawRequest, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import {
  bothSite,
  canaries,
  hmacSite,
  oauthSite,
  type Stage,
  type StageOptions,
  stage,
} from "../../../testkit/stage.ts";

const amount = "73514273514";
const person = "canary.person";
const values = { ...order, order_amount: `${amount}.42`, site_customer_identifier: person };
const signed = { "Countersign-Site": hmacSite };
const json = "Content-Type: application/json\r\nContent-Length: 2\r\n";
const stages: Stage[] = [];
let answers: string[] = [];

/** Every output of a test is searched for every value that must not be in it. */
afterEach(async () => {
  const secrets = [...Object.values(canaries), "canary-token", "canary_header", amount, person];
  const searched = answers;
  answers = [];
  for (const { simulator, recorder, metrics, page, statusUrl, config } of stages.splice(0)) {
    for (const { body } of simulator.seen.apiRequests) {
      const signature = /"signature":"([0-9a-f]{64})"/.exec(body.toString())?.[1];
      if (signature !== undefined) secrets.push(signature);
    }
    searched.push(
      logOf(recorder.events, "trace").text,
      JSON.stringify(recorder.events),
      inspect(recorder.events, { depth: 9 }),
      (await metrics()).text,
      (await get(statusUrl, "/status")).text,
      await page(),
      inspect(config, { depth: 9, showHidden: true }),
      JSON.stringify(config.environments.get("sandbox")?.sites.get(oauthSite)),
    );
  }
  for (const text of searched) for (const secret of secrets) expect(text).not.toContain(secret);
});

it("no secret is shown when all goes well, nor when a 401 is cured or stays", async () => {
  const { url, simulator, recorder } = await stageCanaries();
  expect((await call(url, values)).status).toBe(200);
  expect((await call(url, values, { headers: signed })).status).toBe(200);
  simulator.revokeAllTokens();
  expect((await call(url, values)).status).toBe(200);
  simulator.faults.add({ host: "api", kind: "answer", status: 401, times: 2 });
  expect((await call(url, values)).status).toBe(401);
  await recorder.nth("request_finished", 4);
  const { apiRequests } = simulator.seen;
  // They did reach the service. Two sets ask for their first token at once, so either may have the first one.
  expect(apiRequests.map(({ token }) => token)).toContainEqual(expect.stringMatching(/^canary-token_[1-4]$/));
  expect(apiRequests.filter(({ body }) => /"signature":"[0-9a-f]{64}"/.test(body.toString()))).toHaveLength(1);
  expect(apiRequests.every(({ body }) => body.includes(amount) && body.includes(person))).toBe(true);
});

/** Requests that are refused, and the cause in their access line. */
const refusals: [
  FailureCode,
  cause: string | undefined,
  body: unknown,
  headers?: Record<string, string>,
  path?: string,
][] = [
  [
    "body_not_json",
    "expected a name in double quotes at character 67",
    `{"order_amount":"${amount}","email":"${person}@example.com",}`,
  ],
  ["body_not_json", "an array", `["${person}"]`],
  ["body_not_json", "expected nothing after the object at character 23", `{"a":"${person}"} ${amount}`],
  ["duplicate_parameter", "order_amount", `{"order_amount":"${amount}","order_amount":"${amount}"}`],
  ["null_value", "order_type", { ...values, order_type: null }],
  ["nested_value", "order_type", `{"order_type":["${person}"],"order_amount":"${amount}"}`],
  ["decimal_invalid", "order_amount", { ...values, order_amount: `${amount}.429` }],
  ["decimal_invalid", "order_amount", `{"order_amount":${amount}.429}`],
  ["decimal_invalid", "order_amount", { ...values, order_amount: `${person}@example.com` }],
  ["number_out_of_range", "order_type", `{"order_type":${amount}e99}`],
  ["character_not_allowed", "order_type", { ...values, order_type: `${person}@example.com` }, signed],
  ["name_not_allowed", '"a b"', `{"a b":"${person}"}`],
  ["version_mismatch", "version", { ...values, version: amount }],
  ["site_not_configured", "site_identifier", { ...values, site_identifier: person }],
  ["site_not_configured", "Countersign-Site", values, { "Countersign-Site": person }],
  ["site_conflict", "site_identifier", { ...values, site_identifier: oauthSite }, signed],
  ["auth_not_configured", "hmac", values, { "Countersign-Auth": "hmac" }],
  ["malformed_request", "Countersign-Reference", values, { "Countersign-Reference": `${person}@example.com` }],
  ["malformed_request", "Countersign-Timeout-Ms", values, { "Countersign-Timeout-Ms": amount }],
  ["query_not_allowed", "query", values, {}, `/create_order?email=${person}&amount=${amount}`],
  ["target_not_allowed", "127.0.0.1", values, {}, `http://127.0.0.1/other?email=${person}`],
  ["target_not_allowed", "127.0.0.1", values, {}, `http://127.0.0.1/${person}/secret`],
  ["target_not_allowed", "evil.example:8080", values, { Host: "evil.example:8080" }],
  ["target_not_allowed", undefined, values, { Host: `user:${person}@evil.example` }],
  ["operation_not_allowed", undefined, values, {}, "/other"],
  ["media_type_not_supported", "Content-Type", values, { "Content-Type": `text/${person}` }],
  ["expectation_not_supported", "Expect", values, { Expect: person }],
  ["body_too_large", "limits.bodyBytes", { ...values, order_type: person.repeat(30_000) }],
];

it("no secret or value is shown when a request is refused; but the log names what is wrong with the request", async () => {
  const { url, port, recorder, simulator } = await stageCanaries();
  const own = {
    Authorization: "Bearer canary_header",
    Cookie: "a=canary_header",
    "Proxy-Authorization": "canary_header",
    "X-Request-Id": "canary_header one\ttwo",
  };
  const told: object[] = [];
  for (const [code, cause, body, headers = {}, path] of refusals) {
    const answer = await failing(url, body, { ...own, ...headers }, path);
    expect(answer.code, `${JSON.stringify(body).slice(0, 80)}`).toBe(code);
    const message = expect.stringContaining(` ${code}${cause === undefined ? "" : ` (${cause})`}, not_sent`);
    told.push({ ...answer, level: "warn", cause, outcome: "not_sent", message });
  }
  for (const bytes of [
    `POST ${new URL("/other", simulator.apiUrl)}?email=${person} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${json}\r\n{}`,
    `POST create_order?email=${person} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${json}\r\n{}`,
    `CONNECT canary_header.example:443 HTTP/1.1\r\nHost: x\r\n\r\n`,
    `POST /create_order HTTP/1.1\r\nHost: localhost\r\nAuthorization canary_header\r\n\r\n`,
    `POST /create_order HTTP/1.1\r\nHost: localhost\r\nA: ${"canary_header".repeat(2_000)}\r\n\r\n`,
    `POST /create_order HTTP/9.9 canary_header\r\n\r\n`,
  ]) {
    const answer = await sendRaw(port, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    answers.push(answer);
  }
  await recorder.nth("request_finished", refusals.length + 6);
  const lines = logOf(recorder.events, "info").of("request_finished").slice(0, refusals.length);
  const shown = lines.map(({ requestId, code, level, cause, outcome, message }) => {
    return { requestId, code, level, cause, outcome, message };
  });
  expect(shown).toEqual(told);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("no secret is shown when the service breaks off, answers junk or is late", async () => {
  const { url, simulator, recorder } = await stageCanaries();
  const echo = `canary_header ${person} ${amount}`;
  for (const auth of [{}, signed]) {
    simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
    expect(await failing(url, values, auth)).toMatchObject({ code: "upstream_reset" });
    simulator.faults.add({ host: "api", kind: "raw", bytes: `${echo} canary-token_1\r\n\r\n` });
    expect(await failing(url, values, auth)).toMatchObject({ code: "upstream_bad_response" });
    simulator.faults.add({ host: "api", kind: "raw", bytes: `HTTP/1.1 200 OK\r\n${echo}\r\n\r\n` });
    expect(await failing(url, values, auth)).toMatchObject({ code: "upstream_bad_response" });
    simulator.faults.add({ host: "api", kind: "hang" });
    expect(await failing(url, values, { ...auth, "Countersign-Timeout-Ms": "200" })).toMatchObject({
      code: "upstream_timeout",
    });
    simulator.faults.add({ host: "api", kind: "truncate" });
    expect(await failing(url, values, auth)).toMatchObject({ code: "upstream_reset" });
  }
  await simulator.stopApi();
  expect(await failing(url, values)).toMatchObject({ code: "upstream_unreachable" });
  await recorder.nth("request_finished", 11);
});

const token = "canary-token_0";
const malformed = [
  `<html>${token}</html>`,
  `{"access_token":"${token}\\r\\nX: y","token_type":"Bearer","expires_in":60}`,
  `{"access_token":"${token}","token_type":"mac","expires_in":60}`,
  `{"access_token":"${token}","token_type":"Bearer","expires_in":-1}`,
  `{"access_token":{"a":"${token}"},"token_type":"Bearer"}`,
  `{"access_token":"${token}`,
];

it.each([
  ...malformed.map((body) => [200, body, "token_unavailable", "malformed"] as const),
  [400, token, "credentials_refused", "refused"],
  [401, token, "credentials_refused", "refused"],
  [429, token, "token_unavailable", "throttled"],
  [302, token, "token_unavailable", "failed"],
  [500, token, "token_unavailable", "failed"],
] as const)(
  "no secret is shown of an authorization server's %i that repeats its request: %s",
  async (status, body, code, result) => {
    const login = await startRawUpstream({
      answer(request, socket) {
        const headers = `Location: http://127.0.0.1/${token}\r\nRetry-After: ${token}\r\nX-Echo: ${request.body}\r\n`;
        socket.write(rawAnswer(status, status === 200 ? body : request.body + body, headers));
      },
    });
    const { url, recorder, simulator } = await stageCanaries({ authUrl: login.url });
    expect(await failing(url, values, { "Countersign-Timeout-Ms": "500" })).toMatchObject({ code });
    await recorder.nth("request_finished", 1);
    expect(await recorder.nth("token_requested", 1)).toMatchObject({ result, status });
    expect(login.requests[0]?.body).toContain("canary-client-secret");
    expect(simulator.counts().apiRequests).toBe(0);
  },
);

const keyLine = clientKey.split("\n")[1] ?? "";
const encoded = "canary+client-secret%26-basic";
const platformAssertion = tokenFor(60);

/** The proof that a client sends in each way, and the settings for it. */
const proofs = [
  {
    what: "the credentials of HTTP Basic",
    settings: { clientAuth: "basic", set: { clientSecret: { file: "DIR/secret" } } },
    shown: (request: RawRequest) => /authorization: Basic (\S+)/.exec(request.head)?.[1] ?? "",
  },
  ...["basic", "post"].map((clientAuth) => ({
    what: `a form-encoded secret (${clientAuth})`,
    settings: { clientAuth, set: { clientSecret: { file: "DIR/secret" } } },
    shown: () => encoded,
  })),
  {
    what: "an assertion",
    settings: { clientAuth: "private_key_jwt", set: { privateKey: { file: "DIR/key.pem" } } },
    shown: (request: RawRequest) => new URLSearchParams(request.body).get("client_assertion") ?? "",
  },
  {
    what: "the platform's assertion",
    settings: { clientAuth: { assertion: { file: "DIR/platform-token" } }, set: {} },
    shown: () => platformAssertion,
  },
];

it.each(proofs)(
  "no secret is shown of an error code that repeats $what, whole or cut off",
  async ({ settings, shown }) => {
    const { set, clientAuth } = settings;
    const seen: string[] = [];
    const login = await startRawUpstream({
      answer(request, socket) {
        const proof = shown(request);
        seen.push(proof);
        const error = request.number === 1 ? proof.slice(0, 60) : `no client with ${proof.slice(0, 20)}`;
        socket.write(rawAnswer(request.number === 1 ? 500 : 401, JSON.stringify({ error, error_description: proof })));
      },
    });
    const service = await startRawUpstream();
    const { url, recorder } = await startConfiguredProxy(
      {
        baseUrl: service.url,
        token: { url: `${login.url}/token`, clientAuth },
        sites: { S1000000001: { credentials: [{ name: "one", clientId: "one-id", ...set }] } },
      },
      { secret: "canary client-secret&-basic", "key.pem": clientKey, "platform-token": platformAssertion },
    );
    expect(await failing(url, values, { "Countersign-Timeout-Ms": "2000" })).toMatchObject({
      code: "credentials_refused",
    });
    await recorder.nth("request_finished", 1);
    const everything = [JSON.stringify(recorder.events), logOf(recorder.events, "trace").text, ...answers].join("\n");
    expect(seen).toHaveLength(2);
    for (const proof of seen) {
      expect(proof.length).toBeGreaterThan(20);
      expect(everything).not.toContain(proof.slice(0, 20));
    }
    expect(everything).not.toContain(keyLine);
  },
);

it("nothing of a defect's message is shown, even if the message looks like a stack", () => {
  const error = new TypeError(`cannot read ${person}\n    at ${amount}`);
  const described = describeDefect(error);
  answers.push(described, describeDefect(person), describeDefect({ person }));
  expect(described).toMatch(/^TypeError at .*leaks\.test/);
});

it("a site's secrets are printed as [secret] in every way", async () => {
  const { config } = await stageCanaries();
  const site = config.environments.get("sandbox")?.sites.get(bothSite);
  const printed = [`${site?.keys[0]?.secret}`, JSON.stringify(site?.credentials), inspect(site, { depth: 9 })];
  for (const text of printed) expect(text).toContain("[secret]");
  answers.push(...printed);
});

async function stageCanaries(options: StageOptions = {}): Promise<Stage> {
  const { simulator, ...others } = options;
  const made = await stage({ withBoth: true, simulator: { tokenPrefix: "canary-", ...simulator }, ...others });
  stages.push(made);
  return made;
}

/** A call that Countersign itself answers; the answer is searched after the test. */
async function failing(url: string, body: unknown, headers: Record<string, string> = {}, path = "/create_order") {
  const answer = await call(url, body, { headers, path });
  answers.push(answer.text, answer.rawHeaders.join("\n"));
  return { code: answer.headers["countersign-error"], requestId: answer.headers["countersign-request-id"] };
}
