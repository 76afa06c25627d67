/** TLS on both sides of a listener for callbacks; a peer that cannot be verified gets nothing. */
import { createServer } from "node:https";
import type { ConnectionOptions, PeerCertificate } from "node:tls";
import { expect, it } from "vitest";
import type { CallbackListenerConfig } from "../../../src/config/config.ts";
import { Secret } from "../../../src/model/secret.ts";
import { addressOf } from "../../../testkit/address.ts";
import {
  authority,
  clientCertificate,
  clientKey,
  expiredCertificate,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { listen } from "../../../testkit/listen.ts";
import { orderToTheEnd } from "../../../testkit/raw-caller.ts";
import { stage } from "../../../testkit/stage.ts";
import { freshCallback, sendJson } from "./sender.ts";

const tls = { ca: authority, cert: serverCertificate, key: new Secret(serverKey) };

it("with mtls a caller must show a certificate, and the log has the certificate's name", async () => {
  const { application, callbackPort, recorder } = await stage("callbacks", { listener: { tls } });
  expect(await ask(callbackPort, { cert: clientCertificate, key: clientKey })).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect((await recorder.nth("callback_finished", 1)).caller).toMatch(/CN=/);
  expect(await ask(callbackPort, {})).toBe("");
  expect(await recorder.nth("handshake_failed", 1)).toMatchObject({ listener: "127.0.0.1:0" });
  expect(application.received).toHaveLength(1);
});

/** An application behind TLS, which demands a client certificate. */
async function stageSecure(cert: string, towards: CallbackListenerConfig["application"]["tls"]) {
  const subjects: (PeerCertificate["subject"] | undefined)[] = [];
  const server = createServer({ cert, key: serverKey, ca: authority, requestCert: true }, (request, response) => {
    const socket = request.socket as unknown as { getPeerCertificate(): PeerCertificate };
    subjects.push(socket.getPeerCertificate().subject);
    request.resume();
    response.end("OK");
  });
  const url = addressOf(`https://localhost:${await listen(server)}/callbacks`);
  const staged = await stage("callbacks", { listener: { application: { url, timeoutMs: 5_000, tls: towards } } });
  return { ...staged, subjects };
}

const own = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };

it("the application's certificate is verified, and ours is shown", async () => {
  const { callbackPort, subjects } = await stageSecure(serverCertificate, own);
  expect(await sendJson(callbackPort, freshCallback())).toMatchObject({ status: 200, text: "OK" });
  expect(subjects).toHaveLength(1);
  expect(subjects[0]).toBeDefined();
});

it.each([
  ["has expired", expiredCertificate, own],
  ["is by an unknown issuer", serverCertificate, { ...own, ca: undefined }],
])("an application whose certificate %s gets nothing: 502, not_sent", async (_, cert, towards) => {
  const { callbackPort, subjects } = await stageSecure(cert, towards);
  const answer = await sendJson(callbackPort, freshCallback());
  expect(answer.status).toBe(502);
  expect(JSON.parse(answer.text)).toMatchObject({ code: "application_unreachable", outcome: "not_sent" });
  expect(subjects).toEqual([]);
});

/** All bytes of the answer. */
async function ask(port: number, options: ConnectionOptions): Promise<string> {
  const to = { port, host: "127.0.0.1", ca: authority, checkServerIdentity: () => undefined, ...options };
  return (await orderToTheEnd(to, { target: "/", body: JSON.stringify(freshCallback()) })).text;
}
