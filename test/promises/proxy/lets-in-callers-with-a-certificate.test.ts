/**
 * A listener with mTLS speaks only with clients that have a certificate of its authorities, and serves only configured
 * callers among them.
 */
import type { ConnectionOptions } from "node:tls";
import { describe, expect, it } from "vitest";
import { headline } from "../../../src/adapters/log/lines.ts";
import type { Caller } from "../../../src/model/listener.ts";
import {
  bothCertificate,
  hostileCertificate,
  namelessCertificate,
  paymentsCertificate,
  reportsCertificate,
  strangerCertificate,
} from "../../../testkit/caller-certificates.ts";
import { authority, clientCertificate, expiredCertificate, serverKey } from "../../../testkit/certificates.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { accessLines } from "../../../testkit/log-lines.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { hmacSite } from "../../../testkit/stage.ts";
import { certificate } from "../../simulator/certificate.ts";
import {
  byCertificate,
  callSecurely,
  clientWith,
  keptConnection,
  known,
  payments,
  stageWithCallers,
  troubleOf,
} from "./callers.ts";

const handshakeMs = 10_000;
const stage = () => stageWithCallers(payments);

describe("cuts the connection, and reads no request, of a caller", () => {
  const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  /** With TLS 1.3 the alert may arrive before the reset. */
  const resetOrAlert = /^ECONNRESET$|CERTIFICATE_REQUIRED/;
  const ownMaking = { ca: authority, cert: certificate.cert, key: certificate.key };
  const expired = { ca: authority, cert: expiredCertificate, key: serverKey };
  it.each<[string, ConnectionOptions, reason: string, trouble?: RegExp]>([
    ["without a certificate", { ca: authority }, "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE", resetOrAlert],
    ["with a certificate of its own making", ownMaking, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["whose certificate has expired", expired, "CERT_HAS_EXPIRED"],
    ["that speaks TLS 1.1 at most", { ...known, ...old }, "ERR_SSL_UNSUPPORTED_PROTOCOL", /^EPROTO$/],
    ["that speaks HTTP/2 only", { ...known, ALPNProtocols: ["h2"] }, "ERR_SSL_NO_APPLICATION_PROTOCOL", /^EPROTO$/],
  ])("%s", async (_, options, reason, trouble = /^ECONNRESET$/) => {
    const { port, simulator, recorder } = await stage();
    expect(await troubleOf(port, options)).toMatch(trouble);
    expect(await troubleOf(port, options)).toMatch(trouble);
    const [first, second] = [await recorder.nth("handshake_failed", 1), await recorder.nth("handshake_failed", 2)];
    expect(first).toEqual({ kind: "handshake_failed", listener: "127.0.0.1:0", reason, isFirst: true });
    expect(second).toEqual({ ...first, isFirst: false });
    expect([first, second].map((event) => headline(event)[0])).toEqual(["warn", "debug"]);
    expect(recorder.count("request_finished")).toBe(0);
    expect(simulator.counts().apiRequests).toBe(0);
    expect((await callSecurely(port)).status).toBe(200);
  });

  it("that speaks no TLS at all, without an answer", async () => {
    const { port, recorder } = await stage();
    const connection = await RawConnection.open(port);
    expect(await connection.write(rawPost()).ended()).not.toContain("HTTP");
    expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ reason: "ERR_SSL_HTTP_REQUEST" });
    expect(recorder.count("request_finished")).toBe(0);
  });

  it("that sends nothing, and says nothing of it", async () => {
    const { port, recorder } = await stage();
    (await RawConnection.open(port)).socket.end();
    (await RawConnection.open(port)).socket.resetAndDestroy();
    const spoken = (await RawConnection.open(port)).write("\x16\x03\x01\0\xc8\x01\0\0\xc4");
    spoken.socket.end();
    await recorder.nth("handshake_failed", 1);
    expect(await callSecurely(port)).toMatchObject({ status: 200 });
    expect(recorder.count("handshake_failed")).toBe(1);
  });

  it("that leaves in the middle of its handshake", async () => {
    const { port, recorder } = await stage();
    const { socket } = (await RawConnection.open(port)).write("\x16\x03\x01\0\xc8\x01\0\0\xc4");
    socket.end();
    expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ reason: "ECONNRESET" });
  });

  it("that takes longer than 10 s for its handshake, while others are served", { timeout: 60_000 }, async () => {
    const { port, recorder } = await stage();
    const silent = (await RawConnection.open(port)).write("\x16\x03");
    const startedMs = performance.now();
    expect((await callSecurely(port)).status).toBe(200);
    await silent.ended();
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(handshakeMs - 500);
    expect(tookMs).toBeLessThan(handshakeMs * 4);
    expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ reason: "ERR_TLS_HANDSHAKE_TIMEOUT" });
  });
});

type Known = Partial<Caller> & Pick<Caller, "name">;

const pays = { name: "payments", certificates: ["URI:spiffe://prod.example/ns/pay/sa/payments"] };
const reports = { name: "reports", certificates: ["URI:urn:reports", "DNS:reports.example"] };
const stageOfTwo = () => stageWithCallers(byCertificate(pays, reports));

it.each([
  ["payments", paymentsCertificate],
  ["reports", reportsCertificate],
])("serves %s, whose name is in the log", async (name, certificate) => {
  const { port, recorder, simulator } = await stageOfTwo();
  expect((await callSecurely(port, clientWith(certificate))).status).toBe(200);
  expect(await accessLines({ recorder }, 1)).toMatchObject([{ caller: name, status: 200 }]);
  expect(simulator.counts()).toMatchObject({ accepted: 1 });
});

describe("refuses, before anything is sent,", () => {
  it.each<[string, certificate: string, detail: RegExp, cause?: string]>([
    ["a workload that nobody has configured", strangerCertificate, /names no caller.*URI:spiffe:.*payments2;/],
    ["a certificate with the name in its subject only", namelessCertificate, /no URI and no DNS name/],
    [
      "a certificate whose names only contain a caller's",
      hostileCertificate,
      /names no caller.* It has DNS:\*\.example;/,
    ],
    ["a certificate of two callers", bothCertificate, /names several callers/, "certificate of several callers"],
  ])("%s", async (_, certificate, detail, cause = "unknown certificate") => {
    const { port, simulator, recorder } = await stageOfTwo();
    const answer = await callSecurely(port, clientWith(certificate), { "Proxy-Authorization": "Bearer x" });
    expectFailure(answer, { status: 403, code: "caller_not_known", detail });
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ cause, stage: "check_caller" });
    expect(simulator.counts().apiRequests).toBe(0);
    const [line] = await accessLines({ recorder }, 1);
    expect(line.caller).toMatch(/^(CN=|URI:)/);
    expect(line.operation).toBeUndefined();
  });

  it("a certificate of another authority, in the handshake", async () => {
    const { port, recorder } = await stageOfTwo();
    expect(await troubleOf(port, clientWith(clientCertificate))).toBe("ECONNRESET");
    expect(recorder.count("request_finished")).toBe(0);
  });
});

it("checks the caller anew with each request: a changed configuration applies to open connections", async () => {
  const { port, proxy, config, simulator } = await stageOfTwo();
  const kept = keptConnection(clientWith(paymentsCertificate));
  expect((await kept(port)).status).toBe(200);
  const apply = async (hash: string, ...callers: readonly Known[]) => {
    const listeners = config.listeners.map((listener) => ({ ...listener, callers: byCertificate(...callers) }));
    await proxy.apply({ ...config, hash, listeners }, "file_change");
    return kept(port);
  };
  const narrowed = await apply("1", { ...pays, sites: new Set([hmacSite]) }, reports);
  expectFailure(narrowed, { status: 403, code: "caller_not_allowed", detail: /^Caller payments may not use site/ });
  const removed = await apply("2", reports);
  expectFailure(removed, { status: 403, code: "caller_not_known", detail: /names no caller/ });
  expect([narrowed, removed].map((each) => each.isSameConnection)).toEqual([true, true]);
  expect((await apply("3", { ...pays, name: "pay" }, reports)).status).toBe(200);
  expect(simulator.counts().apiRequests).toBe(2);
});
