/** A route uses the environment's TLS, and over TLS a close alone does not prove that an answer is whole. */
import { once } from "node:events";
import { createServer } from "node:https";
import { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import type { Tls } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { authority, clientCertificate, clientKey, serverTls, trusting } from "../../../testkit/certificates.ts";
import { listen } from "../../../testkit/listen.ts";
import { RawConnection } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { rawRequest } from "../../../testkit/stage/pass-through.ts";
import { stage } from "../../../testkit/stage.ts";

const proved: Tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };

it("a route uses the environment's authority and client certificate", async () => {
  const service = await startTlsService();
  const { send } = await stage("routeTo", service.url, { environment: { tls: proved } });
  for (let time = 0; time < 2; time += 1) {
    expect(await send("GET /files/a")).toMatchObject({ status: 200, text: "true" });
  }
});

it("a service whose certificate the authorities did not sign gets nothing: not_sent", async () => {
  const service = await startTlsService();
  const { send } = await stage("routeTo", service.url);
  const answer = await send("PUT /files/a", ["Content-Length: 1"], "x");
  expect(answer.headers).toMatchObject({
    "countersign-error": "upstream_unreachable",
    "countersign-outcome": "not_sent",
  });
  expect(service.requests()).toBe(0);
});

/** The proxy before a service over TLS that answers with these bytes and closes. */
async function stageAnswer(bytes: string) {
  const { url } = await startRawUpstream({ tls: serverTls, answer: (_, socket) => void socket.end(bytes) });
  return stage("routeTo", url, { environment: { tls: trusting } });
}

it("an answer that only the close ends is unknown, and the caller's connection is reset", async () => {
  const { port, finished } = await stageAnswer("HTTP/1.1 200 OK\r\n\r\nsome");
  const caller = await RawConnection.open(port);
  const failed = once(caller.socket, "error");
  await caller.write(rawRequest("GET /files/a")).until(/some$/);
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(await finished()).toMatchObject({
    status: 200,
    code: "upstream_reset",
    cause: "UNFRAMED_OVER_TLS",
    outcome: "unknown",
  });
});

it.each([
  ["GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsome"],
  ["GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n"],
  ["GET", "HTTP/1.1 204 No\r\n\r\n"],
  ["HEAD", "HTTP/1.1 200 OK\r\n\r\n"],
])("the answer to a %s that has an end of its own is whole: %j", async (method, bytes) => {
  const { port, finished } = await stageAnswer(bytes);
  const caller = await RawConnection.open(port);
  caller.write(rawRequest(`${method} /files/a`));
  expect(await caller.ended()).toMatch(bytes.includes("some") ? /some/ : /\r\n\r\n$/);
  expect(await finished()).toMatchObject({ outcome: "answered", code: undefined });
});

async function startTlsService() {
  const options = { ...serverTls, ca: authority, requestCert: true };
  let requests = 0;
  const server = createServer(options, (request, response) => {
    requests += 1;
    response.end(request.socket instanceof TLSSocket ? String(request.socket.authorized) : "");
  });
  const port = await listen(server);
  return { url: `https://localhost:${port}`, requests: () => requests };
}
