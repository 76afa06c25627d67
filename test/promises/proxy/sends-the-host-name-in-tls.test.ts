/** A front that routes by name finds it in each TLS connection (SNI); an address is no name (RFC 6066 section 3). */
import { describe, expect, it } from "vitest";
import { probe, targetAt } from "../../../src/cli/doctor/connection.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { Secret } from "../../../src/model/secret.ts";
import { addressOf } from "../../../testkit/address.ts";
import { call, get } from "../../../testkit/call.ts";
import { clientCertificate, clientKey, trusting } from "../../../testkit/certificates.ts";
import { startCollector } from "../../../testkit/collector.ts";
import { startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { startApplication } from "../../../testkit/stage/callbacks.ts";
import { egressThrough } from "../../../testkit/stage/egress.ts";
import { files } from "../../../testkit/stage/pass-through.ts";
import { tracingTo } from "../../../testkit/stage/tracing.ts";
import { stage } from "../../../testkit/stage.ts";
import { startTlsFront } from "../../../testkit/tls-front.ts";
import { freshCallback, sendJson } from "../callbacks/sender.ts";

const mutual = { ...trusting, cert: clientCertificate, key: new Secret(clientKey) };
const portOf = (url: string) => Number(new URL(url).port);

describe.each([
  ["a name", "localhost", "localhost"],
  ["an address", "127.0.0.1", "none"],
])("%s", (_, host, sent) => {
  const frontOf = async (url: string) => {
    const front = await startTlsFront(portOf(url));
    return { ...front, url: `https://${host}:${front.port}${new URL(url).pathname}` };
  };
  const expectNames = (names: readonly string[]) => {
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names)).toEqual(new Set([sent]));
  };

  it("service, authorization server, pass-through route and collector, with mTLS too", async () => {
    const { simulator } = await stage();
    const collector = await startCollector();
    const [api, login, spans] = [
      await frontOf(simulator.apiUrl),
      await frontOf(simulator.loginUrl),
      await frontOf(collector.url),
    ];
    const staged = await stage({
      baseUrl: api.url,
      authUrl: login.url,
      oneSet: true,
      environment: { tls: mutual, passThrough: [files] },
      config: { tracing: tracingTo(spans.url, { tls: trusting }) },
    });
    expect((await call(staged.url)).status).toBe(200);
    await get(staged.url, "/files/a");
    await call(staged.url, "x", { path: "/files/a", method: "PUT" });
    await collector.atLeast(1);
    for (const { names } of [api, login, spans]) expectNames(names);
    expect(api.names.length).toBe(3);
  });

  it("forward proxy, and the service behind it", async () => {
    const { simulator } = await stage();
    const [api, login] = [await frontOf(simulator.apiUrl), await frontOf(simulator.loginUrl)];
    const hosts = Object.fromEntries([api, login].map(({ port }) => [`${host}:${port}`, port]));
    const proxy = await frontOf((await startForwardProxy({ hosts })).url);
    const staged = await stage({
      baseUrl: api.url,
      authUrl: login.url,
      environment: { tls: trusting, egress: egressThrough(proxy) },
    });
    expect((await call(staged.url)).status).toBe(200);
    for (const { names } of [proxy, api, login]) expectNames(names);
  });

  it("application of callbacks", async () => {
    const application = await frontOf((await startApplication()).url);
    const url = addressOf(application.url);
    const staged = await stage("callbacks", { listener: { application: { url, timeoutMs: 5_000, tls: trusting } } });
    expect((await sendJson(staged.callbackPort, freshCallback())).status).toBe(200);
    expectNames(application.names);
  });

  it("the doctor", async () => {
    const { simulator } = await stage();
    const api = await frontOf(simulator.apiUrl);
    const run = { clock: systemClock, config: { timeouts: { connectMs: 1_000 } } } as never;
    const to = targetAt(["environments.sandbox", "baseUrl"], { address: addressOf(api.url), tls: trusting }, run);
    expect(await probe(to, systemClock, { method: "GET", path: "/" })).toHaveProperty("answer");
    expectNames(api.names);
  });
});
