/** Row 42: a bad certificate or an old protocol is 502 not_sent, and nothing turns verification off. */
import { once } from "node:events";
import { connect, createServer, type TlsOptions } from "node:tls";
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
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { listen } from "../../../testkit/listen.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };
const noTls: Tls = { ca: undefined, cert: undefined, key: undefined };
const trusting: Tls = { ...noTls, ca: authority };
const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;

/** A TLS service that counts connections and whatever is said to it once a handshake is done. */
async function startTlsUpstream(options: TlsOptions) {
  let said = 0;
  const server = createServer(options, (socket) => {
    socket
      .on("error", () => {})
      .on("data", () => {
        said += 1;
        socket.write(rawAnswer(200, "{}"));
      });
  });
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  const port = await listen(server);
  return { port, url: `https://localhost:${port}`, counts: () => ({ connections, said }) };
}

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
    [
      "whose certificate comes from an unknown authority",
      { key: serverKey, cert: serverCertificate },
      noTls,
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
    ["whose private CA is not the configured one", certificate, trusting, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    [
      "that speaks TLS 1.1 at most",
      { key: serverKey, cert: serverCertificate, ...old },
      trusting,
      "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
    ],
  ])("%s", async (_name, options, tls, code) => {
    const upstream = await startTlsUpstream(options);
    const { url } = await stageProxy({ baseUrl: upstream.url, environment: { tls } });
    const answer = await call(url, order, signed);
    expect(answer.status).toBe(502);
    expect(answer.json).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent" });
    expect(answer.json.detail).toContain(`not acceptable (${code}); see tls.caFile`);
    expect(upstream.counts()).toEqual({ connections: 2, said: 0 });
  });

  it("also where the whole process was told to trust any certificate", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    const upstream = await startTlsUpstream(certificate);
    const { url } = await stageProxy({ baseUrl: upstream.url });
    expect((await call(url, order, signed)).json).toMatchObject({ code: "upstream_unreachable", outcome: "not_sent" });
    expect(upstream.counts().said).toBe(0);
  });
});

/** The counter-proof: that server is there for whoever still speaks TLS 1.1. */
it("the TLS 1.1 server of these tests does work", async () => {
  const upstream = await startTlsUpstream({ key: serverKey, cert: serverCertificate, ...old });
  const socket = connect({ ...old, host: "localhost", port: upstream.port, ca: authority });
  await once(socket, "secureConnect");
  expect(socket.getProtocol()).toBe("TLSv1.1");
  socket.destroy();
});

describe("a service behind a private CA", () => {
  const server = { key: serverKey, cert: serverCertificate };

  it("is reached, and so is its authorization server", async () => {
    const { url, simulator } = await stageProxy({ simulator: { tls: server }, environment: { tls: trusting } });
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 1, tokensIssued: 1 });
  });

  it("that asks for client certificates is shown the configured one", async () => {
    const tls: Tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };
    const asking = { ...server, ca: authority, requestCert: true };
    const { url, simulator } = await stageProxy({ simulator: { tls: asking }, environment: { tls } });
    expect((await call(url)).status).toBe(200);
    expect(simulator.counts()).toMatchObject({ accepted: 1, tokensIssued: 1 });
  });

  it("that asks for client certificates is not reached without one", async () => {
    const asking = { ...server, ca: authority, requestCert: true };
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
  expect(login.counts().said).toBe(0);
  expect(simulator.counts().apiRequests).toBe(0);
});
