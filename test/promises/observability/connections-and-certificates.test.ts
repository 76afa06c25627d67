/** What an operator plans by: connections beside their limit, the wait for tokens, and when certificates expire. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { earliestExpirySeconds } from "../../../src/adapters/stats/gauges.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
import { authority, expiredCertificate, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { stageProxy } from "../../../testkit/stage.ts";
import { older, stageWithTokens, token } from "../proxy/stage-with-callers.ts";

const environment = "sandbox";
const listener = "127.0.0.1:0";
const at = (text: string) => Date.parse(text) / 1_000;

it("shows the open connections of a listener beside their limit", async () => {
  const { port, adminUrl } = await stageProxy();
  const shown = async () => {
    const { value } = await scrape(adminUrl);
    return [value("countersign_connections", { listener }), value("countersign_connections_limit", { listener })];
  };
  expect(await shown()).toEqual([0, 1_024]);
  const sockets = Array.from({ length: 3 }, () => connect(port, "127.0.0.1"));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  await expect.poll(shown).toEqual([3, 1_024]);
  sockets[0]?.destroy();
  await expect.poll(shown).toEqual([2, 1_024]);
});

it("counts how long each request waited for a token, and none that needs no token", async () => {
  const pending: (() => void)[] = [];
  const granted = rawAnswer(200, '{"access_token":"t","token_type":"Bearer","expires_in":3600}');
  const login = await startRawUpstream({ answer: (_, socket) => pending.push(() => socket.write(granted)) });
  const stage = await stageProxy({ authUrl: login.url, oneSet: true });
  const { url, adminUrl, clock, recorder } = stage;
  await login.whenRequests(1);
  const waiting = call(url, order);
  await whenInFlight(stage, 1);
  clock.push(700);
  pending.shift()?.();
  await waiting;
  await call(url, order, { headers: { "Countersign-Site": "S1000000003" } });
  await recorder.nth("request_finished", 2);
  const { value } = await scrape(adminUrl);
  const name = "countersign_token_wait_duration_seconds";
  expect(value(`${name}_count`, { environment })).toBe(1);
  expect(value(`${name}_bucket`, { environment, le: "0.5" })).toBe(0);
  expect(value(`${name}_sum`, { environment })).toBeGreaterThanOrEqual(0.7);
});

it("shows when the first certificate of each file expires, in both directions, and follows a reload", async () => {
  const tls = { ca: authority, cert: serverCertificate, key: new Secret(serverKey) };
  const bind = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const { adminUrl, proxy, config } = await stageProxy({
    environment: { tls: { ...tls, ca: `${authority}\n${expiredCertificate}` } },
    config: { listeners: [{ bind, environment, hosts: [], callers: { kind: "named", callers: [], tls } }] },
  });
  const shown = async () => {
    const { samples = [] } =
      (await scrape(adminUrl)).families.get("countersign_certificate_expiry_timestamp_seconds") ?? {};
    return samples.map(({ labels, value }) => [labels["use"], labels["listener"], labels["environment"], value]);
  };
  const far = at("2120-01-01T00:00:00Z");
  expect(await shown()).toEqual([
    ["upstream_ca", "none", environment, earliestExpirySeconds(expiredCertificate)],
    ["upstream_client", "none", environment, far],
    ["listener_server", listener, environment, far],
    ["listener_ca", listener, environment, far],
  ]);
  expect(earliestExpirySeconds(expiredCertificate)).toBeLessThan(at("2026-01-01T00:00:00Z"));
  const [before = expect.unreachable()] = config.environments.values();
  const after = { ...before, tls: { ca: undefined, cert: undefined, key: undefined } };
  const environments = new Map([[environment, after]]);
  await proxy.apply({ ...config, environments, hash: "ba9876543210" }, "sighup");
  expect((await shown()).map(([use]) => use)).toEqual(["listener_server", "listener_ca"]);
});

it("has no expiry for a file without a certificate that can be read", () => {
  expect(earliestExpirySeconds("")).toBeUndefined();
  expect(earliestExpirySeconds("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")).toBeUndefined();
});

it("counts requests by the name of their caller where the configuration names it, and nowhere else", async () => {
  const { url, adminUrl } = await stageWithTokens();
  const by = (secret: string) => ({ headers: { "proxy-authorization": `Bearer ${secret}` } });
  const created = [
    await call(url, order, by(token)),
    await call(url, order, by(token)),
    await call(url, order, by(older)),
  ];
  expect(created.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await call(url, "[]", by(token))).status).toBe(400);
  expect((await call(url, order, by("of nobody"))).status).toBe(407);
  const counted = async (caller: string, outcome: string) =>
    (await scrape(adminUrl)).value("countersign_caller_requests_total", { listener, caller, outcome });
  expect(await counted("orders", "answered")).toBe(2);
  expect(await counted("orders", "not_sent")).toBe(1);
  expect(await counted("orders-before", "answered")).toBe(1);
  const { families } = await scrape(adminUrl);
  expect(families.get("countersign_caller_requests_total")?.samples).toHaveLength(3);
});

it("counts no caller at a listener that asks for no names", async () => {
  const { url, adminUrl } = await stageProxy();
  expect((await call(url, order)).status).toBe(200);
  expect((await scrape(adminUrl)).families.get("countersign_caller_requests_total")?.samples ?? []).toEqual([]);
});
