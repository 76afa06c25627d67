/** Row 74: replicas that share a Redis hand a callback to the application once, and say so when they cannot know. */
import { expect, it, onTestFinished } from "vitest";
import { aclUser } from "../../../testkit/acl.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { Children, startServing } from "../../../testkit/processes.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { callbackOf, secret, site } from "../../promises/callbacks/sender.ts";
import {
  type Application,
  accepts,
  freshCallback,
  sendJson,
  startApplication,
} from "../../promises/callbacks/stage.ts";

interface Pod {
  readonly port: number;
  readonly adminUrl: string;
  readonly pid: number;
}

/** The built command, each in a process of its own. */
async function startPods(count: number, redis: RealRedis, application: Application, replay: string): Promise<Pod[]> {
  const children = new Children();
  onTestFinished(() => children.endAll());
  const folder = new ConfigWriter("callbacks");
  onTestFinished(() => folder.remove());
  const key = { identifier: "K2000000001", secret: folder.secret("k1", secret) };
  const shared = {
    tokens: { cache: "redis" },
    redis: {
      url: redis.url,
      username: aclUser.username,
      password: folder.secret("redis-password", aclUser.password),
      encryptionKeys: [folder.newKey("token-key")],
    },
  };
  const pods: Pod[] = [];
  for (let index = 0; index < count; index += 1) {
    const port = await freePort();
    const callbacks = [
      {
        bind: `127.0.0.1:${port}`,
        environment: "sandbox",
        application: { url: application.url, timeout: "2s" },
        replay,
      },
    ];
    const sites = { [site]: { keys: [key] } };
    const environment = { baseUrl: "http://127.0.0.1:1/json-api", authUrl: "http://127.0.0.1:2", sites };
    const serving = await startServing({
      children,
      writeConfig: (own) =>
        folder.config(`pod-${index}.yaml`, sandboxConfig([`127.0.0.1:${own}`], environment, { ...shared, callbacks })),
      onLine: () => {},
    });
    pods.push({ port, adminUrl: serving.adminUrl, pid: serving.process.pid });
  }
  return pods;
}

const shares = (pods: readonly Pod[]) => (index: number) => pods[index % pods.length]?.port ?? 0;

it("of forty at the same moment at two processes one reaches the application, and none later", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const pods = await startPods(2, redis, application, "strict");
  const portOf = shares(pods);
  application.answerWith((response, received) => setTimeout(() => accepts(response, received), 400));
  const callback = freshCallback();
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => sendJson(portOf(n), callback)));
  expect(application.received).toHaveLength(1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  for (const { port } of pods) expect((await sendJson(port, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
  const keys = (await redis.command("KEYS", "*:callback")) as string[];
  expect(keys).toHaveLength(1);
  expect(JSON.stringify([keys, await redis.command("GET", keys[0] ?? "")])).not.toContain(callback["signature"]);
  const ttlMs = Number(await redis.command("PTTL", keys[0] ?? ""));
  expect(ttlMs).toBeGreaterThan(300_000);
  expect(ttlMs).toBeLessThanOrEqual(362_000);
});

it("one that a process could not deliver is delivered by another", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const [one, other] = await startPods(2, redis, application, "strict");
  const callback = freshCallback();
  application.answerWith((response) => response.writeHead(500).end());
  expect((await sendJson(one?.port ?? 0, callback)).status).toBe(500);
  application.answerWith(accepts);
  expect((await sendJson(other?.port ?? 0, callback)).status).toBe(200);
  expect(application.received).toHaveLength(2);
});

it("one whose process is killed while it delivers may come again when its lease is over", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const [one, other] = await startPods(2, redis, application, "strict");
  const callback = freshCallback();
  application.answerWith(() => {});
  const lost = sendJson(one?.port ?? 0, callback).catch(() => "lost");
  await expect.poll(() => application.received.length, { timeout: 5_000 }).toBe(1);
  process.kill(one?.pid ?? 0, "SIGKILL");
  expect(await lost).toBe("lost");
  application.answerWith(accepts);
  expect((await sendJson(other?.port ?? 0, callback)).status).toBe(503);
  await expect
    .poll(async () => (await sendJson(other?.port ?? 0, callback)).status, { timeout: 20_000, interval: 500 })
    .toBe(200);
  expect(application.received).toHaveLength(2);
});

it.each([
  ["strict", 503, 0],
  ["best_effort", 200, 1],
])("without Redis, %s answers %i", async (replay, status, count) => {
  const redis = await startRedis();
  const application = await startApplication();
  const [pod] = await startPods(1, redis, application, replay);
  const port = pod?.port ?? 0;
  expect((await sendJson(port, freshCallback())).status).toBe(200);
  await redis.kill();
  const answer = await sendJson(port, callbackOf({ number: "during the outage" }));
  expect(answer.status).toBe(status);
  expect(application.received).toHaveLength(1 + count);
  if (status === 503) {
    expect(JSON.parse(answer.text)).toMatchObject({ code: "replay_store_unavailable", outcome: "not_sent" });
    expect(answer.headers["retry-after"]).toBe("1");
  }
  const { sum } = await scrape(pod?.adminUrl ?? "");
  expect(sum("countersign_callbacks_unguarded_total")).toBe(count);
  await redis.restart();
  await expect.poll(async () => (await sendJson(port, freshCallback())).status, { timeout: 10_000 }).toBe(200);
});

it("a Redis that is full takes no claim: strict asks to come again", async () => {
  const redis = await startRedis({ args: ["--maxmemory-policy", "noeviction"] });
  const application = await startApplication();
  const [pod] = await startPods(1, redis, application, "strict");
  await redis.config("maxmemory", "1");
  expect((await sendJson(pod?.port ?? 0, freshCallback())).status).toBe(503);
  expect(application.received).toEqual([]);
});

it("a claim that Redis took too late to say so keeps the callback from no replica once Redis is back", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const [one, other] = await startPods(2, redis, application, "strict");
  for (const pod of [one, other]) expect((await sendJson(pod?.port ?? 0, freshCallback())).status).toBe(200);
  const callback = freshCallback();
  redis.stop();
  const refused = await sendJson(one?.port ?? 0, callback);
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, "replay_store_unavailable"]);
  redis.cont();
  // The lease is of 7 s.
  await expect
    .poll(async () => (await sendJson(other?.port ?? 0, callback)).status, { timeout: 5_000, interval: 250 })
    .toBe(200);
  expect(application.received).toHaveLength(3);
});

it("one that was taken while Redis was away is known to all replicas once it is back", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const [one, other] = await startPods(2, redis, application, "strict");
  application.answerWith((response, received) => void redis.kill().then(() => accepts(response, received)));
  const callback = freshCallback();
  expect((await sendJson(one?.port ?? 0, callback)).status).toBe(200);
  await redis.restart();
  // It comes back empty: without the mark the application would get the callback a second time.
  await expect.poll(() => redis.command("KEYS", "*:callback"), { timeout: 5_000 }).toHaveLength(1);
  await expect.poll(async () => (await sendJson(other?.port ?? 0, callback)).status, { timeout: 5_000 }).toBe(200);
  expect(application.received).toHaveLength(1);
});

it("one that was taken while Redis refused writes, as in a failover, is known to all replicas afterwards", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const [one, other] = await startPods(2, redis, application, "strict");
  const demote = () => redis.command("REPLICAOF", "127.0.0.1", "1");
  application.answerWith((response, received) => void demote().then(() => accepts(response, received)));
  const callback = freshCallback();
  expect((await sendJson(one?.port ?? 0, callback)).status).toBe(200);
  application.answerWith(accepts);
  await redis.command("REPLICAOF", "NO", "ONE");
  const sendBoth = async () => {
    await sendJson(one?.port ?? 0, freshCallback());
    return (await sendJson(other?.port ?? 0, callback)).status;
  };
  // Without the mark it would be refused for the lease of 7 s, and then be delivered again.
  await expect.poll(sendBoth, { timeout: 12_000, interval: 250 }).toBe(200);
  const number = `"number":"${callback["number"]}"`;
  expect(application.received.filter(({ body }) => body.includes(number))).toHaveLength(1);
});
