/** Row 82: real processes that share a Redis send a request with one key once, also when one of them is killed at any moment. */
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { type Called, call, order } from "../../../testkit/call.ts";
import { listen } from "../../../testkit/listen.ts";
import type { Serving } from "../../../testkit/processes.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accepted, keysIn, startOncePods } from "./once-stage.ts";

const startPods = async (redis: RealRedis, baseUrl: string) =>
  (await startOncePods(2, redis, baseUrl)) as [Serving, Serving];

const send = ({ url }: Serving, key: string, body: object = order, timeoutMs = 20_000): Promise<Called> =>
  call(url, body, { headers: { "Countersign-Once": key, "Countersign-Timeout-Ms": String(timeoutMs) } });

it("a thousand keys, each at two processes at the same moment, are a thousand requests", async () => {
  const upstream = await startRawUpstream({ answer: (_, socket) => void socket.write(accepted) });
  const pods = await startPods(await startRedis(), upstream.url);
  const answers: Called[] = [];
  const keys = Array.from({ length: 1_000 }, (_, index) => `order-${index}`);
  for (let next = 0; next < keys.length; next += 50) {
    const burst = keys.slice(next, next + 50).flatMap((key) => pods.map((pod) => send(pod, key, { ...order, key })));
    answers.push(...(await Promise.all(burst)));
  }
  const sent = upstream.requests.map(({ body }) => JSON.parse(body).key);
  expect(new Set(sent).size).toBe(sent.length);
  const first = answers.filter(({ status, headers }) => status === 200 && !("countersign-replayed" in headers));
  expect(first).toHaveLength(sent.length);
  expect(first.length).toBeGreaterThan(900);
  // A busy machine may let a claim or a record take too long: then it is refused, and its key can be free again.
  const others = answers.filter((answer) => !first.includes(answer));
  expect(others.filter(({ status }) => ![200, 409, 503].includes(status))).toEqual([]);
  expect(others.filter(({ status }) => status === 200).length).toBeGreaterThan(900);
});

it("killed after its claim and before a byte was sent, a process leaves a key that is unknown", async () => {
  // It takes connections, and never speaks TLS.
  const silent = createServer((socket) => void socket.on("error", () => {}));
  const isConnected = once(silent, "connection");
  const port = await listen(silent);
  const redis = await startRedis();
  const [one, other] = await startPods(redis, `https://127.0.0.1:${port}`);
  await killWhile(one, send(one, "order-1", order, 300), isConnected);
  await readsAsUnknown(other, redis);
});

it("killed while the service works on it, a process leaves a key that is unknown", async () => {
  const upstream = await startRawUpstream();
  const redis = await startRedis();
  const [one, other] = await startPods(redis, upstream.url);
  await killWhile(one, send(one, "order-1", order, 300), upstream.whenRequests(1));
  await readsAsUnknown(other, redis);
  expect(upstream.requests).toHaveLength(1);
});

it("killed after an answer that could not be recorded, a process leaves a key that is unknown", async () => {
  const redis = await startRedis();
  const upstream = await startRawUpstream({
    answer: (_, socket) => void redis.command("CLIENT", "PAUSE", 60_000, "WRITE").then(() => socket.write(accepted)),
  });
  const [one, other] = await startPods(redis, upstream.url);
  expect((await send(one, "order-1", order, 2_000)).status).toBe(200);
  process.kill(one.process.pid, "SIGKILL");
  await one.process.ended;
  await redis.command("CLIENT", "UNPAUSE");
  await readsAsUnknown(other, redis);
  expect(upstream.requests).toHaveLength(1);
});

async function killWhile(pod: Serving, sending: Promise<unknown>, reached: Promise<unknown>): Promise<void> {
  const lost = sending.catch(() => "lost");
  await reached;
  process.kill(pod.process.pid, "SIGKILL");
  expect(await lost).toBe("lost");
}

/** In progress as long as the killed process could have been at it, then unknown, and never free. */
async function readsAsUnknown(pod: Serving, redis: RealRedis): Promise<void> {
  const outcomes = new Set<string>();
  await expect
    .poll(
      async () => {
        const { json } = await send(pod, "order-1", order, 200);
        outcomes.add(json.code);
        return json.code;
      },
      { timeout: 10_000, interval: 100 },
    )
    .toBe("already_sent");
  expect([...outcomes].filter((code) => code !== "once_unavailable")).toEqual(["once_in_progress", "already_sent"]);
  expect((await send(pod, "order-1")).json.first).toMatchObject({ outcome: "unknown" });
  const [name = ""] = (await keysIn(redis)).keys();
  expect(Number(await redis.command("PTTL", name))).toBeGreaterThan(3_500_000);
}
