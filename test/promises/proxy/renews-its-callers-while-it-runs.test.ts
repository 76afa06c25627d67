/** New tokens, limits and certificates apply from the next request or handshake; no connection is lost. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ProxyError } from "../../../src/model/errors.ts";
import { Secret } from "../../../src/model/secret.ts";
import type { RequestHandler } from "../../../src/serving/messages.ts";
import { authority, clientCertificate, clientKey, foreignCertificate } from "../../../testkit/certificates.ts";
import { certificate } from "../../simulator/certificate.ts";
import { callSecurely, keptConnection, known, listenerTls, openSecurely, troubleOf } from "./callers.ts";
import { openListener, settings } from "./listener-alone.ts";

const buffer = { reserve: () => {}, onEvicted: () => {} };

const openFirst = () => openListener({ handler: journeyOf("first"), tls: listenerTls });

it("serves the next request on an open connection with the new handler", async () => {
  const { port, change } = await openFirst();
  const kept = keptConnection();
  expect((await kept(port)).json).toEqual({ name: "first" });
  change({ handler: journeyOf("second") });
  expect(await kept(port)).toMatchObject({ json: { name: "second" }, isSameConnection: true });
  expect((await callSecurely(port)).json).toEqual({ name: "second" });
});

it("applies the new limit to new connections, lower or higher", async () => {
  const { port, server, change } = await openFirst();
  change({ settings: { ...settings, connections: 2 } });
  const open = [await openSecurely(port), await openSecurely(port)];
  expect((await callSecurely(port)).status).toBe(503);
  change({ settings: { ...settings, connections: 3 } });
  expect((await callSecurely(port)).status).toBe(200);
  for (const each of open) each.destroy();
  expect(server.maxConnections).toBe(6);
});

it("shows the new certificate to new connections, and keeps open ones", async () => {
  const { port, change } = await openFirst();
  const kept = keptConnection();
  await kept(port);
  change({ tls: { ...listenerTls, cert: foreignCertificate } });
  expect(await kept(port)).toMatchObject({ status: 200, isSameConnection: true });
  expect(await troubleOf(port, known)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  const elsewhere = await openSecurely(port, { ...known, checkServerIdentity: () => undefined });
  expect(elsewhere.getPeerCertificate().subject.CN).toBe("elsewhere.example");
  change({ tls: listenerTls });
  expect((await callSecurely(port)).status).toBe(200);
});

it("trusts the new authority and no longer the old one, and both while one replaces the other", async () => {
  const { port, change, recorder } = await openFirst();
  const other = { ...known, cert: certificate.cert, key: certificate.key };
  const trouble = async () => [await troubleOf(port, known), await troubleOf(port, other)];
  expect(await trouble()).toEqual([undefined, "ECONNRESET"]);
  change({ tls: { ...listenerTls, ca: `${listenerTls.ca}${certificate.cert}` } });
  expect(await trouble()).toEqual([undefined, undefined]);
  change({ tls: { ...listenerTls, ca: certificate.cert } });
  expect(await trouble()).toEqual(["ECONNRESET", undefined]);
  expect(recorder.of("handshake_failed").map(({ reason }) => reason)).toEqual([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ]);
});

it("closes a connection that the old authority admitted with its next answer, and does not admit it again", async () => {
  const { port, change } = await openFirst();
  const kept = keptConnection();
  await kept(port);
  change({ tls: { ...listenerTls, ca: certificate.cert } });
  const last = await kept(port);
  expect(last).toMatchObject({ status: 200, isSameConnection: true });
  expect(last.headers["connection"]).toBe("close");
  await expect(kept(port)).rejects.toMatchObject({ code: "ECONNRESET" });
});

it.each(["TLSv1.2", "TLSv1.3"] as const)(
  "resumes no session from before the change: each %s connection shows its certificate",
  async (version) => {
    const { port, change } = await openFirst();
    const options = { ...known, minVersion: version, maxVersion: version };
    const first = await openSecurely(port, options);
    first.write("POST /create_order HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    // With TLS 1.3 a session ticket comes after the handshake, before the first answer.
    await once(first, "data");
    const session = first.getSession() ?? expect.unreachable();
    expect((await openSecurely(port, { ...options, session })).isSessionReused()).toBe(false);
    change({ tls: { ...listenerTls, ca: certificate.cert } });
    expect(await troubleOf(port, { ...options, session })).toBe("ECONNRESET");
  },
);

it("keeps the former certificate and key if OpenSSL refuses the new files", async () => {
  const { port, change } = await openFirst();
  const mixed = { ...listenerTls, cert: clientCertificate };
  expect(() => change({ tls: mixed })).toThrow(/key values mismatch/);
  expect((await callSecurely(port)).status).toBe(200);
  expect(() => change({ tls: { ca: authority, cert: clientCertificate, key: new Secret(clientKey) } })).not.toThrow();
});

it("ends with all its connections, those in the middle of their handshake included", async () => {
  const { port, server, recorder } = await openFirst();
  const begun = connect({ port, host: "127.0.0.1" });
  onTestFinished(() => void begun.destroy());
  begun.on("error", () => {}).write("\x16");
  const [accepted]: Socket[] = await once(server, "connection");
  await expect.poll(() => accepted?.bytesRead).toBe(1);
  const open = await openSecurely(port);
  open.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  await once(open, "data");
  const ends = [once(server, "close"), once(begun, "close"), once(open, "close")];
  server.close();
  server.closeAllConnections();
  await Promise.all(ends);
  expect(recorder.of("handshake_failed").map(({ reason }) => reason)).toEqual(["ECONNRESET"]);
});

/** A handler that answers with its name. */
function journeyOf(name: string): RequestHandler {
  const body = Buffer.from(JSON.stringify({ name }));
  const headers = ["Content-Length", String(body.length)];
  const how = { isLocal: true, isFramed: true };
  const refused = Buffer.from("{}");
  return {
    async handle(inbound) {
      await inbound.readBody(settings.clock.nowMs() + 5_000, buffer);
      await inbound.answer({ status: 200, headers, body, ...how }, Number.POSITIVE_INFINITY);
    },
    async refuse(caller, error) {
      const status = error instanceof ProxyError ? error.status : 500;
      const headers = ["Content-Length", "2"];
      await caller.answer({ status, headers, body: refused, ...how }, Number.POSITIVE_INFINITY);
    },
  };
}
