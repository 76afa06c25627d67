/** Row 70: the log names the cause that the caller reads. */
import type { Socket } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import type { Tls } from "../../../src/model/environment.ts";
import { call, order } from "../../../testkit/call.ts";
import { authority, expiredCertificate, foreignCertificate, serverKey } from "../../../testkit/certificates.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, oauthSite, type Stage, type StageOptions, stageProxy } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";

const blue = `${oauthSite}/blue`;
const signed = { "Countersign-Site": hmacSite };
const trusting: Tls = { ca: authority, cert: undefined, key: undefined };

/** A host that never gets as far as a request. */
async function startTls(options: TlsOptions): Promise<string> {
  const server = createServer(options, (socket) => socket.on("error", () => {}));
  return `https://localhost:${await listen(server)}`;
}

/** Hosts that cannot be spoken with, and what the log says of each. */
const hosts: readonly (readonly [string, () => Promise<string>, RegExp])[] = [
  ["refuses connections", async () => `http://127.0.0.1:${await freePort()}`, /^ECONNREFUSED$/],
  [
    "has a name that does not exist",
    async () => "http://host.countersign.invalid",
    /^(ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT)$/,
  ],
  [
    "has a certificate that has expired",
    () => startTls({ key: serverKey, cert: expiredCertificate }),
    /^CERT_HAS_EXPIRED$/,
  ],
  ["signed its certificate itself", () => startTls(certificate), /^DEPTH_ZERO_SELF_SIGNED_CERT$/],
  [
    "has another host's certificate",
    () => startTls({ key: serverKey, cert: foreignCertificate }),
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
  ],
];

/** The access line of the n-th request. */
async function accessLine({ recorder }: Stage, n = 1) {
  await recorder.nth("request_finished", n);
  return logOf(recorder.events, "info").of("request_finished")[n - 1];
}

describe.each(hosts)("where the service %s", (_, start, cause) => {
  it("the access line says so, as the caller reads it", async () => {
    const stage = await stageProxy({ baseUrl: await start(), environment: { tls: trusting } });
    const answer = await call(stage.url, order, { headers: signed });
    expect(answer.status).toBe(502);
    const line = await accessLine(stage);
    expect(line).toMatchObject({ level: "warn", code: "upstream_unreachable", outcome: "not_sent" });
    expect(line.cause).toMatch(cause);
    expect(answer.json.detail).toContain(`(${line.cause})`);
    expect(line.message).toBe(`create_order for ${hmacSite}: 502 upstream_unreachable (${line.cause}), not_sent`);
  });
});

describe.each(hosts)("where the authorization server %s", (_, start, cause) => {
  it("the token request's line says so, and so do the access lines of requests that need the token", async () => {
    const stage = await stageProxy({ authUrl: await start(), environment: { tls: trusting }, oneSet: true });
    const answer = await call(stage.url, order, { headers: { "Countersign-Timeout-Ms": "3000" } });
    expect(answer.json).toMatchObject({ code: "token_unavailable", outcome: "not_sent" });
    const access = await accessLine(stage);
    const [request] = logOf(stage.recorder.events, "info").of("token_requested");
    expect(request).toMatchObject({ level: "warn", result: "failed", credential: blue });
    expect(request).not.toHaveProperty("status");
    expect(request.cause).toMatch(cause);
    expect(request.message).toMatch(
      new RegExp(`^token for ${blue}: failed \\(${request.cause}\\), next try in ${Math.round(request.pauseMs)} ms$`),
    );
    expect(access).toMatchObject({ code: "token_unavailable", cause: request.cause });
    expect(access.message).toBe(`create_order for ${oauthSite}: 503 token_unavailable (${request.cause}), not_sent`);
    expect(access.tokenWaitMs).toBeGreaterThan(0);
    expect(access).not.toHaveProperty("credential");
  });
});

it("says that the authorization server reset the connection", async () => {
  const login = await startRawUpstream({ answer: (_request, socket) => void socket.resetAndDestroy() });
  const { recorder } = await stageProxy({ authUrl: login.url });
  await recorder.nth("token_requested", 1);
  expect(logOf(recorder.events, "info").of("token_requested")[0]).toMatchObject({
    result: "failed",
    cause: expect.stringMatching(/^(ECONNRESET|CONNECTION_CLOSED)$/),
  });
});

const answerWith = (status: number, body: unknown) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return startRawUpstream({ answer: rawAnswer(status, text) });
};

async function tokenLine(status: number, body: unknown, options: StageOptions = {}) {
  const { url, recorder } = await stageProxy({
    authUrl: (await answerWith(status, body)).url,
    oneSet: true,
    ...options,
  });
  const answer = await call(url, order, { headers: { "Countersign-Timeout-Ms": "1000" } });
  await recorder.nth("request_finished", 1);
  const log = logOf(recorder.events, "trace");
  return { line: log.of("token_requested")[0], access: log.of("request_finished")[0], text: log.text, answer };
}

describe("the authorization server's own error code", () => {
  it.each([
    [401, "invalid_client", "refused", "credentials_refused"],
    [400, "unauthorized_client", "refused", "credentials_refused"],
    [403, "access_denied", "refused", "credentials_refused"],
    [429, "too_many_requests", "throttled", "token_unavailable"],
    [503, "temporarily_unavailable", "failed", "token_unavailable"],
  ])("of a %i is the cause: %s", async (status, error, result, code) => {
    const body = { error, error_description: "canary-description", error_uri: "https://canary.example" };
    const { line, access, text } = await tokenLine(status, body);
    expect(line).toMatchObject({ result, status, cause: error });
    expect(line.message).toContain(`(HTTP ${status}, ${error})`);
    expect(access).toMatchObject({ code, cause: error });
    expect(text).not.toContain("canary");
  });

  it.each([
    ["in no JSON", "<html>canary</html>"],
    ["that is no text", { error: { canary: 1 } }],
    ["that is empty", { error: "" }],
    ["with a character that the RFC does not allow", { error: 'canary"}' }],
    ["with a backslash", { error: "canary\\" }],
    ["with a line's end", { error: 'canary\n{"level":"fatal"}' }],
    ["with characters of another script", { error: "canary\u202e" }],
    ["of 10 kB", { error: "canary".repeat(1_700) }],
    ["that is the secret", { error: "canary-client-secret-blue" }],
    ["that has the secret within", { error: "bad canary-client-secret-blue" }],
    ["that has most of the secret", { error: "bad canary-client-sec" }],
    ["that has the end of the secret", { error: "client-secret-blue" }],
    ["in a list", [{ error: "canary" }]],
  ])("is left out %s", async (_, body) => {
    const { line, access, text } = await tokenLine(401, body);
    expect(line).toMatchObject({ result: "refused", status: 401 });
    expect(line).not.toHaveProperty("cause");
    expect(line.message).toContain("refused (HTTP 401), next try");
    expect(access).toMatchObject({ code: "credentials_refused", cause: "HTTP 401" });
    expect(text).not.toMatch(/canary|secret/);
  });
});

it.each([
  ["no JSON", "<html>", "not a JSON object"],
  ["no token", { token_type: "Bearer" }, "access_token"],
  ["another type", { access_token: "token_0", token_type: "mac" }, "token_type"],
  ["no life", { access_token: "token_0", token_type: "Bearer", expires_in: 0 }, "expires_in"],
])("says what is wrong with a token answer that has %s", async (_, body, cause) => {
  const { line, access } = await tokenLine(200, body);
  expect(line).toMatchObject({ level: "warn", result: "malformed", status: 200, cause });
  expect(access).toMatchObject({ code: "token_unavailable", cause });
});

describe("what is wrong with the caller's request", () => {
  const own = (header: string, value: string) => ({ headers: { [header]: value } });
  it.each<[string, string, unknown, Parameters<typeof call>[2]]>([
    ["nested_value", "order_type", { order_type: ["canary"] }, {}],
    ["null_value", "order_type", { order_type: null }, {}],
    ["duplicate_parameter", "a", '{"a":"canary","a":"canary"}', {}],
    ["decimal_invalid", "order_amount", { order_amount: "canary" }, {}],
    ["number_out_of_range", "order_type", '{"order_type":1e99}', {}],
    ["character_not_allowed", "order_type", { order_type: "canary@example.com" }, { headers: signed }],
    ["name_not_allowed", '"a b"', { "a b": "canary" }, {}],
    ["version_mismatch", "version", { version: "canary" }, {}],
    ["site_not_configured", "site_identifier", { site_identifier: "canary" }, {}],
    ["site_not_configured", "Countersign-Site", {}, own("Countersign-Site", "canary")],
    ["site_conflict", "site_identifier", { site_identifier: oauthSite }, { headers: signed }],
    ["auth_not_configured", "hmac", {}, own("Countersign-Auth", "hmac")],
    ["malformed_request", "Countersign-Timeout-Ms", {}, own("Countersign-Timeout-Ms", "canary")],
    ["malformed_request", "Countersign-Reference", {}, own("Countersign-Reference", "canary canary")],
    ["media_type_not_supported", "Content-Type", {}, own("Content-Type", "text/canary")],
    ["expectation_not_supported", "Expect", {}, own("Expect", "canary")],
    ["target_not_allowed", "evil.example:8080", {}, own("Host", "evil.example:8080")],
    ["target_not_allowed", "evil.example", {}, { path: "http://evil.example/canary?canary" }],
    ["body_too_large", "limits.bodyBytes", { a: "canary".repeat(50_000) }, {}],
  ])("%s names %s", async (code, cause, body, options) => {
    const stage = await stageProxy();
    expect((await call(stage.url, body, options)).headers["countersign-error"]).toBe(code);
    const line = await accessLine(stage);
    expect(line).toMatchObject({ level: "warn", code, cause, outcome: "not_sent" });
    expect(line.message).toContain(` ${code} (${cause}), not_sent`);
    expect(JSON.stringify(line)).not.toContain("canary");
  });
});

describe("where time ran out, the access line says what had not come", () => {
  const partial = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{";
  it.each([
    ["no connection", "https:", {}, "not_sent"],
    ["no answer", "http:", {}, "unknown"],
    ["incomplete answer", "http:", { answer: (_: unknown, socket: Socket) => void socket.write(partial) }, "unknown"],
  ])("%s", async (cause, scheme, behaviour, outcome) => {
    const upstream = await startRawUpstream(behaviour);
    const stage = await stageProxy({ baseUrl: upstream.url.replace("http:", scheme) });
    // In the middle of the second try to connect: each may take a second.
    const headers = { ...signed, "Countersign-Timeout-Ms": "1500" };
    await call(stage.url, order, { headers }).catch(() => undefined);
    const line = await accessLine(stage);
    expect(line).toMatchObject({ code: "upstream_timeout", outcome, cause });
    expect(line.message).toContain(`upstream_timeout (${cause}), ${outcome}`);
  });
});
