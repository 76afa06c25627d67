/**
 * A refused connection, an unknown name, a host that closes or sends nothing during the TLS handshake, a bad certificate or an
 * old protocol is 502 not_sent, and nothing turns verification off.
 */
import { once } from "node:events";
import { connect, type TlsOptions } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Tls } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { type CallOptions, call, order } from "../../../testkit/call.ts";
import {
  authority,
  clientCertificate,
  clientKey,
  expiredCertificate,
  foreignCertificate,
  noTls,
  serverKey,
  serverTls,
  trusting,
} from "../../../testkit/certificates.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { accessLines } from "../../../testkit/log-lines.ts";
import { type RawBehaviour, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, type Stage, stage } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";

const signed: CallOptions = { headers: { "Countersign-Site": hmacSite, "Countersign-Reference": "A-1042" } };

it.each<[string, RawBehaviour, RegExp, connectMs: number]>([
  [
    "closes during the TLS handshake",
    { receive: (_bytes, socket) => socket.destroy() },
    /the connection is closed as soon as it is made \(ECONNRESET\)/,
    10_000,
  ],
  [
    "speaks plain HTTP instead of TLS",
    { receive: (_bytes, socket) => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") },
    /it does not speak TLS \(ERR_SSL_\w+\); give the port of its TLS in baseUrl/,
    10_000,
  ],
  [
    "never answers the TLS handshake within timeouts.connect",
    {},
    /and no TLS came in time \(TLS_TIMEOUT\)|no connection in time \(CONNECT_TIMEOUT\)/,
    200,
  ],
])("a host that %s: not_sent, after one reconnect", async (_, service, because, connectMs) => {
  const upstream = await startRawUpstream(service);
  const staged = await stage({
    baseUrl: upstream.url.replace("http:", "https:"),
    timeouts: { requestMs: 60_000, connectMs },
  });
  await expectUnreachable(staged, because);
  expect(upstream).toMatchObject({ connections: 2, requests: [] });
});

it.each([
  [
    "a port on which nothing listens",
    "http://127.0.0.1:1",
    /connections are refused \(ECONNREFUSED\); see that it is up/,
  ],
  [
    "a name that does not exist",
    "http://api.countersign.invalid/json-api",
    /cannot be resolved \((ENOTFOUND|EAI_AGAIN)\)|in time \(CONNECT_TIMEOUT\)/,
  ],
])("%s", async (_, baseUrl, because) => {
  const staged = await stage({ baseUrl });
  await expectUnreachable(staged, because);
  expect(staged.simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
});

/** The answer and the access line name the same cause. */
async function expectUnreachable(staged: Stage, because: RegExp) {
  const failure = { status: 502, code: "upstream_unreachable", detail: because, reference: "A-1042" } as const;
  const answer = await call(staged.url, order, signed);
  expectFailure(answer, failure);
  const [line] = await accessLines(staged, 1);
  const { code } = failure;
  expect(line).toMatchObject({ level: "warn", code, outcome: "not_sent", stage: "send", attempts: 1 });
  expect(answer.json.detail).toContain(`(${line.cause})`);
  expect(line.message).toContain(`create_order for ${hmacSite}: 502 ${code}, not_sent; ${line.server}: `);
  expect(line.message).toContain(`(${line.cause})`);
}

const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;

const startTlsUpstream = (tls: TlsOptions) => startRawUpstream({ tls, answer: rawAnswer(200, "{}") });

describe("a service is refused", () => {
  it.each([
    ["whose certificate has expired", { key: serverKey, cert: expiredCertificate }, trusting, "CERT_HAS_EXPIRED"],
    [
      "whose certificate names another host",
      { key: serverKey, cert: foreignCertificate },
      trusting,
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
    ["whose certificate is self-signed", certificate, noTls, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["whose certificate comes from an unknown authority", serverTls, noTls, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    ["whose private CA is not the configured one", certificate, trusting, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["that speaks TLS 1.1 at most", { ...serverTls, ...old }, trusting, "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"],
  ])("%s", async (_name, options, tls, code) => {
    const upstream = await startTlsUpstream(options);
    const staged = await stage({ baseUrl: upstream.url, environment: { tls } });
    await expectUnreachable(staged, new RegExp(`it(s certificate | speaks no TLS).* \\(${code}\\); `));
    expect(upstream).toMatchObject({ connections: 2, spoken: 0 });
  });

  it("even if an environment variable tells the process to trust any certificate", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    const upstream = await startTlsUpstream(certificate);
    await expectUnreachable(await stage({ baseUrl: upstream.url }), /DEPTH_ZERO_SELF_SIGNED_CERT/);
    expect(upstream.spoken).toBe(0);
  });
});

/** The counter-proof: that server answers a client that still speaks TLS 1.1. */
it("the TLS 1.1 server of these tests works", async () => {
  const upstream = await startTlsUpstream({ ...serverTls, ...old });
  const socket = connect({ ...old, host: "localhost", port: upstream.port, ca: authority });
  await once(socket, "secureConnect");
  expect(socket.getProtocol()).toBe("TLSv1.1");
  socket.destroy();
});

describe("a service behind a private CA", () => {
  it("is reached, and so is its authorization server", async () => {
    const { url, simulator } = await stage({ simulator: { tls: serverTls }, environment: { tls: trusting } });
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 1, tokensIssued: 1 });
  });

  it("that demands client certificates is shown the configured one", async () => {
    const tls: Tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };
    const asking = { ...serverTls, ca: authority, requestCert: true };
    const { url, simulator } = await stage({ simulator: { tls: asking }, environment: { tls } });
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 1, tokensIssued: 1 });
  });

  it("that demands client certificates is not reached without one", async () => {
    const asking = { ...serverTls, ca: authority, requestCert: true };
    const { url, simulator } = await stage({ simulator: { tls: asking }, environment: { tls: trusting } });
    expect((await call(url, order, signed)).status).toBe(502);
    expect((await call(url)).json).toMatchObject({ code: "token_unavailable", outcome: "not_sent" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, tokenRequests: 0 });
  });
});

it("an authorization server with a bad certificate never gets the credentials", async () => {
  const login = await startTlsUpstream(certificate);
  const { url, simulator } = await stage({ authUrl: login.url });
  const answer = await call(url);
  expect(answer.status).toBe(503);
  expect(answer.json).toMatchObject({ code: "token_unavailable", outcome: "not_sent" });
  expect(login.spoken).toBe(0);
  expect(simulator.counts().apiRequests).toBe(0);
});
