/** Row 82: a key of Countersign-Once is used by one request; what became of that one decides about its repetitions. */
import { once as event } from "node:events";
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { type Clock, sleep, systemClock } from "../../../src/model/clock.ts";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt, patientClock, sealKey } from "../../../testkit/redis-replica.ts";
import { bothSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";
import { accepted, keysIn, stageOnce } from "./once-stage.ts";

it.each([200, 201, 302, 400, 401, 404, 409, 429, 500, 503])(
  "a request answered %i is not sent again",
  async (status) => {
    const { once, upstream, lastEnd } = await stageOnce(await startRedis(), (_, socket) => {
      socket.write(rawAnswer(status));
    });
    const sinceMs = Date.now();
    const first = await once("order-1");
    expect(first.status).toBe(status);
    // A 5xx leaves open what became of the order (row 87).
    const [outcome, detail] =
      status < 500
        ? ["answered", /The service answered it with status/]
        : ["unknown", /may have taken effect; it was answered with status 50[03]\. Look for it/];
    expect(await lastEnd()).toMatchObject({ once: "recorded", outcome });
    const again = await once("order-1");
    const requestId = first.headers["countersign-request-id"];
    expectFailure(again, { status: 409, code: "already_sent", detail: detail as RegExp });
    expect(again.json.first).toEqual({ request_id: requestId, time: expect.any(String), outcome, status });
    expect(Math.abs(Date.parse(again.json.first.time) - sinceMs)).toBeLessThan(5_000);
    expect(await lastEnd()).toMatchObject({ once: "already_sent", onceFirst: requestId, attempts: 0 });
    expect(upstream.requests).toHaveLength(1);
  },
);

it("a request that broke off, or whose status decides nothing, is unknown and is not sent again", async () => {
  let answer = "";
  const { once, upstream } = await stageOnce(
    await startRedis(),
    (_, socket) => void (answer === "" ? socket.destroy() : socket.end(answer)),
    { environment: { undecided: new Set([502]) } },
  );
  expectFailure(await once("broken"), { status: 502, code: "upstream_reset", outcome: "unknown" });
  const broken = await once("broken");
  expectFailure(broken, { status: 409, code: "already_sent", detail: /may have taken effect\. Look for it/ });
  expect(broken.json.first).toMatchObject({ outcome: "unknown" });
  expect(broken.json.first).not.toHaveProperty("status");
  answer = rawAnswer(502);
  expect((await once("undecided")).headers["countersign-outcome"]).toBe("unknown");
  expect((await once("undecided")).json.first).toMatchObject({ outcome: "unknown", status: 502 });
  answer = `HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"cut`;
  // Its head may have reached the client, or not.
  await once("cut").catch(() => {});
  expect((await once("cut")).json.first).toMatchObject({ outcome: "unknown" });
  expect(upstream.requests).toHaveLength(3);
});

it("a request that was not sent frees its key at once", async () => {
  const redis = await startRedis();
  const down = createServer().listen(0, "127.0.0.1");
  await event(down, "listening");
  const { port } = down.address() as { readonly port: number };
  down.close();
  const { once, lastEnd } = await stageOnce(redis, undefined, { baseUrl: `http://127.0.0.1:${port}/json-api` });
  for (const _ of [1, 2]) {
    expectFailure(await once("order-1"), { status: 502, code: "upstream_unreachable" });
    expect(await lastEnd()).toMatchObject({ once: "freed" });
    expect(await keysIn(redis)).toEqual(new Map());
  }
});

it("a request that ends before its claim writes nothing: no token, a body that is refused", async () => {
  const redis = await startRedis();
  const { once, upstream, lastEnd } = await stageOnce(redis, undefined, {
    authUrl: "http://127.0.0.1:1",
    environment: { defaultSite: oauthSite },
  });
  expectFailure(await once("order-1"), { status: 503, code: "token_unavailable" });
  expectFailure(await once("order-1", { body: "{}}" }), { status: 400, code: "body_not_json" });
  expect((await lastEnd()).once).toBeUndefined();
  expect(await redis.command("KEYS", "*:once")).toEqual([]);
  expect(upstream.connections).toBe(0);
});

it("a 401 and the retry after it are one use of the key", async () => {
  const redis = await startRedis();
  const stage = await stageProxy({
    environment: { defaultSite: bothSite },
    withBoth: true,
    config: { tokens: (await stageOnce(redis)).config.tokens },
  });
  const send = () => call(stage.url, order, { headers: { "Countersign-Once": "order-1" } });
  await stage.recorder.nth("token_adopted", 2);
  stage.simulator.revokeAllTokens();
  const first = await send();
  expect(first.headers).toMatchObject({ "countersign-attempts": "2" });
  expect(first.status).toBe(200);
  expect((await send()).json).toMatchObject({ code: "already_sent", first: { status: 200 } });
  expect(stage.simulator.counts().apiRequests).toBe(2);
});

it("while the first is under way a repetition is refused, and may ask again", async () => {
  let finish = () => {};
  const { once, upstream, lastEnd } = await stageOnce(await startRedis(), (_, socket) => {
    finish = () => void socket.write(accepted);
  });
  const first = once("order-1");
  await upstream.whenRequests(1);
  const meanwhile = await once("order-1");
  expectFailure(meanwhile, { status: 409, code: "once_in_progress" });
  expect(meanwhile.headers["retry-after"]).toBe("1");
  finish();
  const requestId = (await first).headers["countersign-request-id"];
  expect(meanwhile.json.first).toEqual({ request_id: requestId, time: expect.any(String) });
  expect(await lastEnd()).toBeDefined();
  expect((await once("order-1")).json.first).toMatchObject({ outcome: "answered", status: 200 });
  expect(upstream.requests).toHaveLength(1);
});

it("a key belongs to one request: another operation or value is refused, another order of members or timestamp is not", async () => {
  const { once, upstream } = await stageOnce(await startRedis());
  const body = { order_currency: "EUR", order_amount: "10.50" };
  expect((await once("order-1", { body })).status).toBe(200);
  const other = await once("order-1", { body: { ...body, order_amount: "10.51" } });
  expectFailure(other, { status: 422, code: "once_key_reused" });
  expect(other.json.first).toMatchObject({ outcome: "answered", status: 200 });
  const turned = { signature: "old", order_amount: 10.5, timestamp: "1", order_currency: "EUR" };
  expectFailure(await once("order-1", { body: turned }), { status: 409, code: "already_sent" });
  expect(upstream.requests).toHaveLength(1);
});

it("a repetition is the same request though the site's version has changed meanwhile", async () => {
  const { once, upstream, proxy, config } = await stageOnce(await startRedis());
  expect((await once("order-1")).status).toBe(200);
  const environments = new Map(
    Array.from(config.environments, ([name, environment]) => {
      const sites = Array.from(environment.sites, ([id, site]) => [id, { ...site, version: "3.9" }] as const);
      return [name, { ...environment, sites: new Map(sites) }] as const;
    }),
  );
  await proxy.apply({ ...config, environments, hash: "ba9876543210" }, "file_change");
  expectFailure(await once("order-1"), { status: 409, code: "already_sent" });
  expect((await once("order-2")).status).toBe(200);
  expect(upstream.requests[1]?.body).toContain('"version":"3.9"');
});

it("an end is written though the configuration has had other settings of Redis for long", async () => {
  let finish = () => {};
  // As if 20 s had passed.
  const clock: Clock = { ...patientClock, after: (ms, task) => patientClock.after(ms === 20_000 ? 0 : ms, task) };
  const redis = await startRedis();
  const { once, upstream, proxy, config, lastEnd } = await stageOnce(
    redis,
    (_, socket) => {
      finish = () => void socket.write(accepted);
    },
    { surroundings: { clock }, config: { timeouts: { requestMs: 60_000, connectMs: 1_000, tokenMs: 2_000 } } },
  );
  const first = once("order-1");
  await upstream.whenRequests(1);
  const rolled = accessTo(nodeAt(redis.port), { encryptionKeys: [sealKey(8), sealKey()] });
  await proxy.apply({ ...config, tokens: { cache: "redis", redis: rolled }, hash: "ba9876543210" }, "file_change");
  await sleep(systemClock, 50);
  finish();
  expect((await first).status).toBe(200);
  expect(await lastEnd()).toMatchObject({ once: "recorded" });
  expect((await once("order-1")).json.first).toMatchObject({ outcome: "answered", status: 200 });
});

it("keys of different sites are different keys; letters count", async () => {
  const { once, upstream } = await stageOnce(await startRedis(), undefined, { withBoth: true });
  expect((await once("order-1")).status).toBe(200);
  expect((await once("Order-1")).status).toBe(200);
  const elsewhere = { headers: { "Countersign-Site": bothSite, "Countersign-Auth": "hmac" } };
  expect((await once("order-1", elsewhere)).status).toBe(200);
  expect((await once("order-1", elsewhere)).status).toBe(409);
  expect(upstream.requests).toHaveLength(3);
});

it("Redis holds neither key nor request, the service sees no header of ours, and the key lives as long as configured", async () => {
  const redis = await startRedis();
  const key = "customer-4711/order-0815";
  const { once, upstream } = await stageOnce(redis, undefined, { config: { once: { ttlMs: 3_600_000 } } });
  const body = { order_amount: "10.50", site_customer_identifier: "customer-4711" };
  await once(key, { body });
  const [[name, value] = ["", ""]] = [...(await keysIn(redis))];
  expect(name).toMatch(/^countersign:1:\{[\w-]{43}\}:once$/);
  expect(value).toMatch(/^\d{13} \d{13} settled [0-9a-f-]{36} [0-9a-f]{8}\.[0-9a-f]{32} answered 200$/);
  expect(Number(await redis.command("PTTL", name))).toBeGreaterThan(3_590_000);
  expect(Number(await redis.command("PTTL", name))).toBeLessThanOrEqual(3_600_000);
  expect(upstream.requests[0]?.head.toLowerCase()).not.toContain("countersign-");
});

it.each(["", "two words", "é", "x".repeat(256)])("the key %j is refused", async (key) => {
  const { url, simulator } = await stageProxy();
  const answer = await call(url, order, { headers: { "Countersign-Once": Buffer.from(key).toString("latin1") } });
  expectFailure(answer, { status: 400, code: "malformed_request", detail: /1 to 255 visible ASCII/ });
  expect(simulator.counts().apiRequests).toBe(0);
});

it("without Redis a request with a key is refused, and one without is served", async () => {
  const { url, simulator, adminUrl } = await stageProxy();
  const answer = await call(url, order, { headers: { "Countersign-Once": "order-1" } });
  expectFailure(answer, { status: 503, code: "once_unavailable", detail: /tokens\.cache: redis/ });
  expect(simulator.counts().apiRequests).toBe(0);
  expect((await call(url)).status).toBe(200);
  expect(
    (await scrape(adminUrl)).value("countersign_once_total", { environment: "sandbox", result: "unavailable" }),
  ).toBe(1);
});

it("a client that leaves while its key is claimed frees it", async () => {
  const redis = await startRedis();
  const { port, adminUrl, upstream, recorder } = await stageOnce(redis, undefined, {
    surroundings: { clock: systemClock },
  });
  redis.stop();
  const { connect } = await import("node:net");
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const body = JSON.stringify(order);
  const head = `POST /create_order HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nCountersign-Once: k\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body);
  await whenInFlight({ adminUrl }, 1);
  socket.destroy();
  redis.cont();
  const { once } = await recorder.nth("request_finished", 1);
  expect(["freed", "recorded", "unavailable"]).toContain(once);
  const sent = upstream.requests.length;
  expect(sent).toBe(once === "recorded" ? 1 : 0);
  await expect.poll(async () => (await keysIn(redis)).size).toBe(sent);
});
