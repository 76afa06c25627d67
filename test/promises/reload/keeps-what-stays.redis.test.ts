/** A reload applies the changes and keeps everything else: connections, tokens, pauses and requests under way. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { canaries } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { blueSet, greenSet, hmacSite, knock, listenerAt, oauthSite, ownListener, sharingAt, startPod } from "./pod.ts";

const signed = { "Countersign-Site": hmacSite };

it("keeps the connection, the token and the pause of the authorization server when timeouts change", async () => {
  const pod = await startPod({ settings: { more: "timeouts: { request: 20s }" } });
  const { simulator } = pod;
  const agent = keepAlive(1);
  const send = () => call(pod.url, order, { agent });
  expect((await send()).status).toBe(200);
  const [socket] = Object.values(agent.freeSockets).flat();
  const line = await pod.apply({ more: "timeouts: { request: 19s, connect: 3s }" }, 1);
  expect(line.hash).not.toBe(line.previousHash);
  expect((await send()).status).toBe(200);
  expect(Object.values(agent.freeSockets).flat()).toEqual([socket]);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1 });
  const { families, value } = await pod.metrics();
  const { samples = [] } = families.get("countersign_config_info") ?? {};
  expect(samples).toMatchObject([{ labels: { hash: line.hash }, value: 1 }]);
  expect(value("countersign_config_reloads_total", { result: "applied" })).toBe(1);
});

it("opens new listeners, and closes old ones when their last request has ended", async () => {
  const pod = await startPod();
  const other = await freePort();
  await pod.apply({ listeners: [ownListener, listenerAt(other)] }, 1);
  expect((await call(`http://127.0.0.1:${other}`)).status).toBe(200);

  const hang = pod.simulator.faults.add({ host: "api", kind: "hang" });
  const last = call(`http://127.0.0.1:${other}`, order, { agent: keepAlive() });
  await hang.whenPlayed(1);
  await pod.apply({}, 2);
  await expect.poll(() => knock(other), { timeout: 10_000 }).toBe("ECONNREFUSED");
  hang.release();
  const { status, headers } = await last;
  expect({ status, connection: headers.connection }).toEqual({ status: 200, connection: "close" });
  expect((await pod.order()).status).toBe(200);
});

it("refuses a whole configuration if a port is taken, without a token request, and accepts it once the port is free", async () => {
  const pod = await startPod();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const free = await freePort();
  const listeners = [ownListener, listenerAt(free), listenerAt(port)];
  const oauthKeys = `credentials: [ ${greenSet} ]`;
  const refused = await pod.apply({ listeners, oauthKeys, more: "timeouts: { request: 7s }" }, 1, "config_refused");
  expect(refused).toMatchObject({
    level: "error",
    problems: [expect.stringContaining(`listeners[2].bind is 127.0.0.1:${port}, which is taken (EADDRINUSE)`)],
  });
  expect(await knock(free)).toBe("ECONNREFUSED");
  expect((await pod.order()).status).toBe(200);
  expect(pod.simulator.counts()).toMatchObject({ tokenRequests: 1, tokensIssued: 1 });
  taken.close();
  await once(taken, "close");
  pod.program.child.kill("SIGHUP");
  expect(await pod.nth("config_applied", 1)).toMatchObject({ trigger: "sighup", previousHash: refused.hash });
  expect(await knock(free)).toBe("open");
});

it("says on SIGHUP that nothing has changed, also if a file is back at its former content", async () => {
  const pod = await startPod();
  pod.program.child.kill("SIGHUP");
  await pod.nth("config_unchanged", 1);
  await pod.apply("listeners: 7", 1, "config_refused");
  await pod.apply({}, 2, "config_unchanged");
  expect((await pod.metrics()).sum("countersign_config_last_reload_successful")).toBe(1);
  expect((await pod.metrics()).sum("countersign_config_reloads_total")).toBe(1);
});

it("uses a secret that was edited in place: a refused set recovers at once when its secret changes", async () => {
  const pod = await startPod({ settings: { oauthKeys: `credentials: [ ${greenSet} ]` } });
  pod.folder.write("green", "canary-client-secret-wrong");
  await pod.nth("config_applied", 1);
  expect(await pod.nth("token_requested", 2)).toMatchObject({ result: "refused" });
  // Promise 67: the former secret's token serves meanwhile.
  expect((await pod.order()).status).toBe(200);
  expect(pod.simulator.seen.apiRequests.at(-1)?.token).toBe("token_1");
  pod.folder.write("green", canaries.green);
  await pod.nth("config_applied", 2);
  expect((await pod.order()).status).toBe(200);
  expect(pod.simulator.seen.apiRequests.at(-1)?.token).toBe("token_2");
});

it("never shows a removed set's token under another set, and removes its series", async () => {
  const pod = await startPod({ settings: { oauthKeys: `credentials: [ ${blueSet}, ${greenSet} ]` } });
  expect((await pod.order()).status).toBe(200);
  await pod.apply({ oauthKeys: `credentials: [ ${greenSet} ]` }, 1);
  expect((await pod.order()).status).toBe(200);
  const metrics = await pod.metrics();
  const gauges = ["token_expiry_timestamp_seconds", "credential_active", "credential_last_used_timestamp_seconds"];
  for (const name of gauges) {
    const isThere = (set: string) =>
      metrics.series.has(`countersign_${name}{credential="${oauthSite}/${set}",environment="sandbox"}`);
    expect({ name, blue: isThere("blue"), green: isThere("green") }).toEqual({ name, blue: false, green: true });
  }
  expect(metrics.sum("countersign_credential_active")).toBe(1);
  const used = pod.simulator.seen.apiRequests.map(({ token }) => token);
  expect(used).toEqual(["token_1", "token_2"]);
});

it("completes requests under way as they began, even those of a removed site", async () => {
  const pod = await startPod();
  const hang = pod.simulator.faults.add({ host: "login", kind: "hang" });
  pod.simulator.revokeAllTokens();
  const last = pod.order();
  await hang.whenPlayed(1);
  const oauthKeys = "keys: [ { identifier: K2000000009, secret: { file: DIR/k2 } } ]";
  await pod.apply({ oauthKeys, more: "timeouts: { connect: 3s }" }, 1);
  hang.release();
  expect((await last).status).toBe(200);
  expect((await pod.order(signed)).status).toBe(200);
});

it("moves from memory to Redis with the token that it has", async () => {
  const redis = await startRedis();
  const pod = await startPod();
  expect((await pod.order()).status).toBe(200);
  await pod.apply({ more: sharingAt(redis, pod) }, 1);
  await pod.nth("redis_up", 1);
  expect((await pod.order()).status).toBe(200);
  expect(pod.simulator.counts().tokensIssued).toBe(1);
  await expect.poll(async () => (await redis.command("DBSIZE")) !== "0", { timeout: 10_000 }).toBe(true);
});
