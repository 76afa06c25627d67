/** What an operator plans by: connections beside their limit, the wait for tokens, and when certificates expire. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { earliestExpirySeconds } from "../../../src/adapters/stats/gauges.ts";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
import { authority, expiredCertificate, noTls, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { changed } from "../../../testkit/environment.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { granted, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const environment = "sandbox";
const listener = "127.0.0.1:0";
const at = (text: string) => Date.parse(text) / 1_000;

it("shows the open connections of a listener beside their limit", async () => {
  const { port, metrics } = await stageProxy();
  const shown = async () => {
    const { value } = await metrics();
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
  const login = await startRawUpstream({ answer: (_, socket) => pending.push(() => socket.write(granted)) });
  const stage = await stageProxy({ authUrl: login.url, oneSet: true });
  const { url, clock, recorder, metrics } = stage;
  await login.whenRequests(1);
  const waiting = call(url, order);
  await whenInFlight(stage, 1);
  clock.push(700);
  pending.shift()?.();
  await waiting;
  await call(url, order, { headers: { "Countersign-Site": "S1000000003" } });
  await recorder.nth("request_finished", 2);
  const { value } = await metrics();
  const name = "countersign_token_wait_duration_seconds";
  expect(value(`${name}_count`, { environment })).toBe(1);
  expect(value(`${name}_bucket`, { environment, le: "0.5" })).toBe(0);
  expect(value(`${name}_sum`, { environment })).toBeGreaterThanOrEqual(0.7);
});

it("shows when the first certificate of each file expires, in both directions, and follows a reload", async () => {
  const tls = { ca: authority, cert: serverCertificate, key: new Secret(serverKey) };
  const bind = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const { config, metrics, reload } = await stageProxy({
    environment: { tls: { ...tls, ca: `${authority}\n${expiredCertificate}` } },
    config: { listeners: [{ bind, environment, hosts: [], callers: { kind: "named", callers: [], tls } }] },
  });
  const shown = async () => {
    const { families } = await metrics();
    const { samples = [] } = families.get("countersign_certificate_expiry_timestamp_seconds") ?? {};
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
  await reload(changed(config, () => ({ tls: noTls })));
  expect((await shown()).map(([use]) => use)).toEqual(["listener_server", "listener_ca"]);
});

it("has no expiry for a file without a certificate that can be read", () => {
  expect(earliestExpirySeconds("")).toBeUndefined();
  expect(earliestExpirySeconds("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")).toBeUndefined();
});
