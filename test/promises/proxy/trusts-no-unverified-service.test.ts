/** Row 42: a bad certificate or an old protocol is 502 not_sent, and nothing turns verification off. */
import { once } from "node:events";
import { connect, type TlsOptions } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Tls } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
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
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };
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
    const { url } = await stageProxy({ baseUrl: upstream.url, environment: { tls } });
    const answer = await call(url, order, signed);
    expect(answer.status).toBe(502);
    expect(answer.json).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent" });
    expect(answer.json.detail).toContain(`not acceptable (${code}); see tls.caFile`);
    expect(upstream).toMatchObject({ connections: 2, spoken: 0 });
  });

  it("also where the whole process was told to trust any certificate", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    const upstream = await startTlsUpstream(certificate);
    const { url } = await stageProxy({ baseUrl: upstream.url });
    expect((await call(url, order, signed)).json).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent" });
    expect(upstream.spoken).toBe(0);
  });
});

/** The counter-proof: that server is there for whoever still speaks TLS 1.1. */
it("the TLS 1.1 server of these tests does work", async () => {
  const upstream = await startTlsUpstream({ ...serverTls, ...old });
  const socket = connect({ ...old, host: "localhost", port: upstream.port, ca: authority });
  await once(socket, "secureConnect");
  expect(socket.getProtocol()).toBe("TLSv1.1");
  socket.destroy();
});

describe("a service behind a private CA", () => {
  it("is reached, and so is its authorization server", async () => {
    const { url, simulator } = await stageProxy({ simulator: { tls: serverTls }, environment: { tls: trusting } });
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 1, tokensIssued: 1 });
  });

  it("that asks for client certificates is shown the configured one", async () => {
    const tls: Tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };
    const asking = { ...serverTls, ca: authority, requestCert: true };
    const { url, simulator } = await stageProxy({ simulator: { tls: asking }, environment: { tls } });
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 1, tokensIssued: 1 });
  });

  it("that asks for client certificates is not reached without one", async () => {
    const asking = { ...serverTls, ca: authority, requestCert: true };
    const { url, simulator } = await stageProxy({ simulator: { tls: asking }, environment: { tls: trusting } });
    expect((await call(url, order, signed)).status).toBe(502);
    expect((await call(url)).json).toMatchObject({ code: "token_unavailable", outcome: "not_sent" });
    expect(simulator.counts()).toMatchObject({ apiRequests: 0, tokenRequests: 0 });
  });
});

it("an authorization server with a bad certificate is never told the credentials", async () => {
  const login = await startTlsUpstream(certificate);
  const { url, simulator } = await stageProxy({ authUrl: login.url });
  const answer = await call(url);
  expect(answer.status).toBe(503);
  expect(answer.json).toMatchObject({ code: "token_unavailable", outcome: "not_sent" });
  expect(login.spoken).toBe(0);
  expect(simulator.counts().apiRequests).toBe(0);
});
