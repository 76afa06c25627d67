/** Proves row 76: a route goes over the environment's TLS, with its authority and its certificate, and to no unverified service. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import type { Tls } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import {
  authority,
  clientCertificate,
  clientKey,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawRequest, stageRoute } from "./stage.ts";

const trusting: Tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };

async function startTlsService() {
  const options = { key: serverKey, cert: serverCertificate, ca: authority, requestCert: true };
  let requests = 0;
  const server = createServer(options, (request, response) => {
    requests += 1;
    response.end(request.socket instanceof TLSSocket ? String(request.socket.authorized) : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

it("with the environment's authority and client certificate", async () => {
  const service = await startTlsService();
  const { port } = await stageRoute(service.url, { environment: { tls: trusting } });
  for (let time = 0; time < 2; time += 1) {
    expect(await ask(port, rawRequest("GET /files/a"))).toMatchObject({ status: 200, text: "true" });
  }
});

it("to no service that its authorities do not vouch for: not_sent", async () => {
  const service = await startTlsService();
  const { port } = await stageRoute(service.url);
  const answer = await ask(port, rawRequest("PUT /files/a", ["Content-Length: 1"], "x"));
  expect(answer.headers).toMatchObject({
    "countersign-error": "upstream_unreachable",
    "countersign-outcome": "not_sent",
  });
  expect(service.requests()).toBe(0);
});
