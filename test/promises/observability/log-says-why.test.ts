/** Row 70: the log names the cause that the caller reads; leaks.test.ts has what is wrong with a request. */
import type { Socket } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { authority, expiredCertificate, foreignCertificate, noTls, serverKey } from "../../../testkit/certificates.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { listen } from "../../../testkit/listen.ts";
import { accessLines, logOf } from "../../../testkit/log-lines.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";

const blue = `${oauthSite}/blue`;
const signed = { "Countersign-Site": hmacSite };
const trusting = { ...noTls, ca: authority };

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

describe.each(hosts)("where the service %s", (_, start, cause) => {
  it("the access line says so, as the caller reads it", async () => {
    const stage = await stageProxy({ baseUrl: await start(), environment: { tls: trusting } });
    const answer = await call(stage.url, order, { headers: signed });
    expect(answer.status).toBe(502);
    const [line] = await accessLines(stage, 1);
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
    const [access] = await accessLines(stage, 1);
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

/** What the log says where the authorization server answers so. */
async function tokenLine(status: number, body: unknown) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const login = await startRawUpstream({ answer: rawAnswer(status, Buffer.from(text).toString("latin1")) });
  const { url, recorder } = await stageProxy({ authUrl: login.url, oneSet: true });
  await call(url, order, { headers: { "Countersign-Timeout-Ms": "1000" } });
  await recorder.nth("request_finished", 1);
  const log = logOf(recorder.events, "trace");
  return { line: log.of("token_requested")[0], access: log.of("request_finished")[0], text: log.text };
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
    const [line] = await accessLines(stage, 1);
    expect(line).toMatchObject({ code: "upstream_timeout", outcome, cause });
    expect(line.message).toContain(`upstream_timeout (${cause}), ${outcome}`);
  });
});
