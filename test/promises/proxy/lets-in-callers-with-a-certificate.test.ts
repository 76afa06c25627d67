/** Row 60: a listener with mTLS speaks with nobody but those who have a certificate of its authorities. */
import { once } from "node:events";
import { connect as connectPlainly } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { headline } from "../../../src/adapters/log/lines.ts";
import { authority, expiredCertificate, serverKey } from "../../../testkit/certificates.ts";
import { rawPost } from "../../../testkit/raw-caller.ts";
import { certificate } from "../../simulator/certificate.ts";
import { callSecurely, known, troubleOf } from "./caller-over-tls.ts";
import { payments, stageWithCallers } from "./stage-with-callers.ts";

const handshakeMs = 10_000;
const stage = () => stageWithCallers(payments);

it("serves who has a certificate of the authority", async () => {
  const { port, simulator, recorder } = await stage();
  expect((await callSecurely(port)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ accepted: 1 });
  expect(recorder.count("handshake_failed")).toBe(0);
});

describe("cuts the connection, and hears nothing, of a caller", () => {
  const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  it.each<[string, ConnectionOptions, RegExp, string]>([
    [
      "without a certificate",
      { ca: authority },
      /^ECONNRESET$|CERTIFICATE_REQUIRED/,
      "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE",
    ],
    [
      "with a certificate of its own making",
      { ca: authority, cert: certificate.cert, key: certificate.key },
      /^ECONNRESET$/,
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    ],
    [
      "whose certificate has expired",
      { ca: authority, cert: expiredCertificate, key: serverKey },
      /^ECONNRESET$/,
      "CERT_HAS_EXPIRED",
    ],
    ["that speaks TLS 1.1 at most", { ...known, ...old }, /^EPROTO$/, "ERR_SSL_UNSUPPORTED_PROTOCOL"],
    ["that speaks HTTP/2 only", { ...known, ALPNProtocols: ["h2"] }, /^EPROTO$/, "ERR_SSL_NO_APPLICATION_PROTOCOL"],
  ])("%s", async (_, options, trouble, reason) => {
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

  it("that speaks no TLS at all, to which nothing is said", async () => {
    const { port, recorder } = await stage();
    const socket = connectPlainly({ port, host: "127.0.0.1" });
    onTestFinished(() => void socket.destroy());
    let said = "";
    socket
      .on("error", () => {})
      .on("data", (piece) => {
        said += piece.toString("latin1");
      });
    socket.write(rawPost());
    await once(socket, "close");
    expect(said).not.toContain("HTTP");
    expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ reason: "ERR_SSL_HTTP_REQUEST" });
    expect(recorder.count("request_finished")).toBe(0);
  });

  it("that leaves in the middle of its handshake", async () => {
    const { port, recorder } = await stage();
    const socket = connectPlainly({ port, host: "127.0.0.1" });
    socket.write(Buffer.from("16030100c8010000c4", "hex"));
    await once(socket, "connect");
    socket.end();
    expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ reason: "ECONNRESET" });
    socket.destroy();
  });

  it("that takes longer than 10 s for its handshake, while others are served", { timeout: 60_000 }, async () => {
    const { port, recorder } = await stage();
    const socket = connectPlainly({ port, host: "127.0.0.1" });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).write(Buffer.from("1603", "hex"));
    await once(socket, "connect");
    const startedMs = performance.now();
    expect((await callSecurely(port)).status).toBe(200);
    socket.resume();
    await once(socket, "close");
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(handshakeMs - 500);
    expect(tookMs).toBeLessThan(handshakeMs * 4);
    expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ reason: "ERR_TLS_HANDSHAKE_TIMEOUT" });
  });
});
