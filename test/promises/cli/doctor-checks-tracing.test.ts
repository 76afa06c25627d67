import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../testkit/free-port.ts";
import { diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, startService } from "./doctor-setup.ts";

// What the doctor says of the collector that spans go to.

async function diagnoseTracing(endpoint: string, secret = "canary-of-the-collector") {
  const { write } = await openFolder();
  const sandbox = environmentOf(await startService());
  const headers = "headers: { x-api-key: { env: COLLECTOR_KEY } }";
  process.env["COLLECTOR_KEY"] = secret;
  onTestFinished(() => void delete process.env["COLLECTOR_KEY"]);
  const more = `tracing: { otlp: { endpoint: "${endpoint}", ${headers} } }`;
  return diagnose(write({ environments: { sandbox }, more }), { withToken: false });
}

async function startAnswering(status: number) {
  const seen: string[] = [];
  const server = createServer(async (incoming, response) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    seen.push(`${incoming.method} ${incoming.url} ${incoming.headers["x-api-key"]} ${body}`);
    response.writeHead(status).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, seen };
}

it("says that the collector takes spans, and gives it none", async () => {
  const { port, seen } = await startAnswering(200);
  const { hasFailed, of } = await diagnoseTracing(`http://127.0.0.1:${port}/v1/traces`);
  expect(hasFailed).toBe(false);
  expect(of("tracing")).toEqual([`ok collector 127.0.0.1:${port}: it takes spans (no TLS)`]);
  expect(seen).toEqual(['POST /v1/traces canary-of-the-collector {"resourceSpans":[]}']);
});

it.each([
  [401, "fail", /tracing\.otlp\.headers/],
  [404, "fail", /tracing\.otlp\.endpoint/],
  [415, "fail", /JSON/],
  [503, "warn", /collector's own log/],
])("says what to do about HTTP %i", async (status, verdict, fix) => {
  const { port } = await startAnswering(status);
  const { of } = await diagnoseTracing(`http://127.0.0.1:${port}/v1/traces`);
  expect(of("tracing")[0]).toMatch(new RegExp(`^${verdict} collector .*HTTP ${status}`));
  expect(of("tracing")[0]).toMatch(fix);
});

it("fails where the collector refuses connections", async () => {
  const { hasFailed, of } = await diagnoseTracing(`http://127.0.0.1:${await freePort()}/v1/traces`);
  expect(hasFailed).toBe(true);
  expect(of("tracing")[0]).toMatch(/^fail collector .*ECONNREFUSED.*tracing\.otlp\.endpoint/);
});
