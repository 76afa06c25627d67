/** A key of Countersign-Once is used by one request; its repetitions get its answer, or the last known state. */
import { expect, it } from "vitest";
import { type Clock, sleep, systemClock } from "../../../src/model/clock.ts";
import { type Called, call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt, patientClock, sealKey } from "../../../testkit/redis-replica.ts";
import { accepted, keysIn } from "../../../testkit/stage/redis.ts";
import { bothSite, oauthSite, stage } from "../../../testkit/stage.ts";

it.each([200, 201, 204, 302, 400, 401, 404, 409, 429])(
  "a request answered %i is not sent again: its repetition gets the answer",
  async (status) => {
    const headers = "Date: Tue, 24 Nov 2026 10:00:00 GMT\r\nX-Order: 1\r\nX-Order: 2\r\n";
    const { once, upstream, lastEnd } = await stage("once", await startRedis(), (_, socket) => {
      socket.write(status === 204 ? `HTTP/1.1 204 No\r\n${headers}\r\n` : rawAnswer(status, "\x00\xff{}", headers));
    });
    const first = await once("order-1");
    expect(first).toMatchObject({ status, headers: { "x-order": "1, 2" } });
    expect(first.headers).not.toHaveProperty("countersign-replayed");
    expect(await lastEnd()).toMatchObject({ once: "recorded", outcome: "answered", attempts: 1 });
    for (const _ of [1, 2]) expectReplay(await once("order-1"), first);
    const end = { once: "replayed", onceFirst: first.headers["countersign-request-id"], attempts: 0, by: "service" };
    expect(await lastEnd()).toMatchObject(end);
    expect(upstream.requests).toHaveLength(1);
  },
);

// A 5xx does not say whether the order exists.
it.each([500, 503])("a request answered %i is not sent again, and stays unknown", async (status) => {
  const { once, upstream, lastEnd } = await stage("once", await startRedis(), (_, socket) => {
    socket.write(rawAnswer(status, "", "Retry-After: 7\r\n"));
  });
  const sinceMs = Date.now();
  const first = await once("order-1");
  // With a key a repetition is safe.
  expect(first.headers).toMatchObject({ "countersign-outcome": "unknown", "retry-after": "7" });
  expect(first.headers).not.toHaveProperty("countersign-retry-after");
  expect(await lastEnd()).toMatchObject({ once: "recorded", outcome: "unknown" });
  const again = await once("order-1");
  const detail = /may have taken effect; it was answered with status 50[03]\. Look for it/;
  expectFailure(again, { status: 409, code: "already_sent", detail });
  const requestId = first.headers["countersign-request-id"];
  expect(again.json.first).toEqual({ request_id: requestId, time: expect.any(String), outcome: "unknown", status });
  expect(Math.abs(Date.parse(again.json.first.time) - sinceMs)).toBeLessThan(5_000);
  expect(await lastEnd()).toMatchObject({ once: "already_sent", onceFirst: requestId, attempts: 0 });
  expect(upstream.requests).toHaveLength(1);
});

it.each([
  ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "1\r\n!\r\n0\r\n\r\n"],
  ["of 65,536 bytes", rawAnswer(200, "x".repeat(65_536)).slice(0, -9), "x".repeat(9)],
])("an answer %s is kept", async (_, answer, rest) => {
  const { once, upstream } = await stage("once", await startRedis(), (_, socket) => {
    socket.write(answer);
    setImmediate(() => socket.write(rest));
  });
  const first = await once("order-1");
  const again = await once("order-1");
  expect(again).toMatchObject({ status: 200, headers: { "countersign-replayed": "true" } });
  expect(again.text).toBe(first.text);
  expect(upstream.requests).toHaveLength(1);
});

it.each([
  { what: "longer than 64 KiB", answer: rawAnswer(200, "x".repeat(65_537)), length: 65_537 },
  { what: "that a close ends", answer: "HTTP/1.1 200 OK\r\n\r\nwhole?", length: 6 },
])("an answer $what is passed on, and not kept", async ({ answer, length }) => {
  const { once, upstream, lastEnd } = await stage("once", await startRedis(), (_, socket) => void socket.end(answer));
  expect((await once("order-1")).text).toHaveLength(length);
  expect(await lastEnd()).toMatchObject({ once: "recorded" });
  const again = await once("order-1");
  expectFailure(again, { status: 409, code: "already_sent", detail: /with status 200; the answer is not kept/ });
  expect(again.json.first).toMatchObject({ outcome: "answered", status: 200 });
  expect(upstream.requests).toHaveLength(1);
});

it.each([
  { what: "comes to its end", rest: "x".repeat(70_000), first: { outcome: "answered", status: 200 } },
  { what: "breaks off", rest: "x", first: { outcome: "unknown", status: 200 } },
])("a long answer that $what: its request is in progress until then", async ({ rest, first }) => {
  let finish = () => {};
  const { once, upstream, port } = await stage("once", await startRedis(), (_, socket) => {
    socket.write(rawAnswer(200, "x".repeat(140_000)).slice(0, -70_000));
    finish = () => void socket.end(rest);
  });
  const caller = await RawConnection.open(port);
  caller.write(rawPost({ more: ["Countersign-Once: order-1"] }));
  await caller.until(/^HTTP\/1.1 200 /);
  const early = await once("order-1", { headers: { "Countersign-Timeout-Ms": "200" } });
  expectFailure(early, { status: 409, code: "once_in_progress" });
  finish();
  await caller.ended();
  const again = await once("order-1");
  expectFailure(again, { status: 409, code: "already_sent" });
  expect(again.json.first).toMatchObject(first);
  expect(upstream.requests).toHaveLength(1);
});

it("a long answer whose caller leaves is read to its end, and recorded", async () => {
  let finish = () => {};
  const { once, recorder, port } = await stage("once", await startRedis(), (_, socket) => {
    socket.write(rawAnswer(200, "x".repeat(140_000)).slice(0, -70_000));
    finish = () => void socket.write("x".repeat(70_000));
  });
  const caller = await RawConnection.open(port);
  caller.write(rawPost({ more: ["Countersign-Once: order-1"] }));
  await caller.until(/^HTTP\/1.1 200 /);
  await caller.leave();
  finish();
  expect(await recorder.nth("request_finished", 1)).toMatchObject({ once: "recorded", callerLeft: true });
  expect((await once("order-1")).json.first).toMatchObject({ outcome: "answered", status: 200 });
});

it("a repetition is the same request, though a reload changes how its amounts are written", async () => {
  const { once, upstream, config, reload } = await stage("once", await startRedis());
  const body = { ...order, discount: 5 };
  expect((await once("order-1", { body })).status).toBe(200);
  const environments = [...config.environments].map(([name, environment]) => {
    const sites = [...environment.sites].map(
      ([id, site]) => [id, { ...site, decimals: new Set(["discount"]) }] as const,
    );
    return [name, { ...environment, sites: new Map(sites) }] as const;
  });
  await reload({ environments: new Map(environments) });
  expect(await once("order-1", { body })).toMatchObject({ status: 200, headers: { "countersign-replayed": "true" } });
  expectFailure(await once("order-1", { body: { ...body, discount: 6 } }), { status: 422, code: "once_key_reused" });
  expect((await once("order-2", { body })).status).toBe(200);
  expect(upstream.requests.map(({ body }) => /"discount":"([^"]*)"/.exec(body)?.[1])).toEqual(["5", "5.00"]);
});

it("a kept answer can be decrypted for its own key and request only", async () => {
  const redis = await startRedis();
  const { once, upstream } = await stage("once", redis);
  for (const key of ["order-1", "order-2"]) await once(key);
  const [[one, value] = ["", ""], [other = "", otherValue = ""] = []] = [...(await keysIn(redis))];
  const sealed = value.slice(value.lastIndexOf(" "));
  await redis.command("SET", other, otherValue.slice(0, otherValue.lastIndexOf(" ")) + sealed, "PX", 60_000);
  await redis.command("SET", one, `${value.slice(0, -4)}AAAA`, "PX", 60_000);
  for (const key of ["order-1", "order-2"]) {
    expectFailure(await once(key), { status: 409, code: "already_sent", detail: /with status 200; the answer is not/ });
  }
  expect(upstream.requests).toHaveLength(2);
});

it("a caller that leaves before its answer is whole gets the whole answer when it asks again", async () => {
  let finish = () => {};
  const { once, upstream, port, recorder } = await stage("once", await startRedis(), (_, socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
    finish = () => void socket.write("cde");
  });
  const leaving = await RawConnection.open(port);
  leaving.write(rawPost({ more: ["Countersign-Once: order-1"] }));
  await upstream.whenRequests(1);
  leaving.socket.destroy();
  const again = once("order-1");
  finish();
  expect(await again).toMatchObject({ text: "abcde", headers: { "countersign-replayed": "true" } });
  await recorder.nth("request_finished", 1, ({ once }) => once === "recorded");
  expect(upstream.requests).toHaveLength(1);
});

it("with once.header the standard's header carries keys too, and both headers mean the same key", async () => {
  const { url, once, upstream } = await stage("once", await startRedis(), undefined, {
    config: { once: { ttlMs: 900_000, waitMs: 1_000, header: "Idempotency-Key" } },
  });
  const send = (key: string) => call(url, order, { headers: { "Idempotency-Key": key } });
  const first = await send('"order-1"');
  expectReplay(await send('"order-1"'), first);
  expectReplay(await once("order-1"), first);
  expectFailure(await send("order-1"), { status: 400, code: "malformed_request", detail: /in double quotes/ });
  expect(upstream.requests).toHaveLength(1);
  expect(upstream.requests[0]?.head).not.toMatch(/idempotency-key/i);
});

it("a request that broke off, or whose status leaves its effect open, is unknown and is not sent again", async () => {
  let answer = "";
  const { once, upstream } = await stage(
    "once",
    await startRedis(),
    (_, socket) => void (answer === "" ? socket.destroy() : socket.end(answer)),
    { environment: { undecided: new Set([502]) } },
  );
  const named = { headers: { "Countersign-Reference": "cart-1" } };
  expectFailure(await once("broken", named), {
    status: 502,
    code: "upstream_reset",
    outcome: "unknown",
    reference: "cart-1",
  });
  const broken = await once("broken");
  expectFailure(broken, { status: 409, code: "already_sent", detail: /may have taken effect\. Look for cart-1\./ });
  expect(broken.json.first).toMatchObject({ outcome: "unknown", reference: "cart-1" });
  expect(broken.json.first).not.toHaveProperty("status");
  answer = rawAnswer(502);
  expect((await once("undecided")).headers["countersign-outcome"]).toBe("unknown");
  expect((await once("undecided")).json.first).toMatchObject({ outcome: "unknown", status: 502 });
  answer = `HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"cut`;
  expectFailure(await once("cut"), { status: 502, code: "upstream_reset", outcome: "unknown" });
  expect((await once("cut")).json.first).toMatchObject({ outcome: "unknown" });
  expect(upstream.requests).toHaveLength(3);
});

it("a request that was not sent frees its key at once", async () => {
  const redis = await startRedis();
  const baseUrl = `http://127.0.0.1:${await freePort()}/json-api`;
  const { once, lastEnd } = await stage("once", redis, undefined, { baseUrl });
  for (const _ of [1, 2]) {
    expectFailure(await once("order-1"), { status: 502, code: "upstream_unreachable" });
    expect(await lastEnd()).toMatchObject({ once: "freed" });
    expect(await keysIn(redis)).toEqual(new Map());
  }
});

it("a request that ends before its claim, without a token or with a refused body, writes nothing", async () => {
  const redis = await startRedis();
  const { once, upstream, lastEnd } = await stage("once", redis, undefined, {
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
  const staged = await stage({
    environment: { defaultSite: bothSite },
    withBoth: true,
    config: { tokens: (await stage("once", redis)).config.tokens },
  });
  const send = () => call(staged.url, order, { headers: { "Countersign-Once": "order-1" } });
  await staged.recorder.nth("token_adopted", 2);
  staged.simulator.revokeAllTokens();
  const first = await send();
  expect(first.headers).toMatchObject({ "countersign-attempts": "2" });
  expect(first.status).toBe(200);
  expectReplay(await send(), first);
  expect(staged.simulator.counts().apiRequests).toBe(2);
});

it("a repetition waits for the answer of a request under way, and is refused at its own deadline", async () => {
  let finish = () => {};
  const { once, upstream, lastEnd } = await stage("once", await startRedis(), (_, socket) => {
    finish = () => void socket.write(accepted);
  });
  const first = once("order-1");
  await upstream.whenRequests(1);
  const waiting = once("order-1");
  const meanwhile = await once("order-1", { headers: { "Countersign-Timeout-Ms": "200" } });
  expectFailure(meanwhile, { status: 409, code: "once_in_progress" });
  expect(meanwhile.headers["retry-after"]).toBe("1");
  finish();
  const answered = await first;
  const requestId = answered.headers["countersign-request-id"];
  expect(meanwhile.json.first).toEqual({ request_id: requestId, time: expect.any(String) });
  expectReplay(await waiting, answered);
  expect(await lastEnd()).toBeDefined();
  expectReplay(await once("order-1"), answered);
  expect(upstream.requests).toHaveLength(1);
});

it("a key belongs to one request: another operation or value is refused, members in another order or another timestamp are not", async () => {
  const { once, upstream } = await stage("once", await startRedis());
  const body = { order_currency: "EUR", order_amount: "10.50" };
  const first = await once("order-1", { body });
  const other = await once("order-1", { body: { ...body, order_amount: "10.51" } });
  expectFailure(other, { status: 422, code: "once_key_reused" });
  expect(other.json.first).toMatchObject({ outcome: "answered", status: 200 });
  const turned = { signature: "old", order_amount: 10.5, timestamp: "1", order_currency: "EUR" };
  expectReplay(await once("order-1", { body: turned }), first);
  expect(upstream.requests).toHaveLength(1);
});

it("a repetition is the same request even if the site's version has changed meanwhile", async () => {
  const { once, upstream, proxy, config } = await stage("once", await startRedis());
  const first = await once("order-1");
  const environments = new Map(
    Array.from(config.environments, ([name, environment]) => {
      const sites = Array.from(environment.sites, ([id, site]) => [id, { ...site, version: "3.9" }] as const);
      return [name, { ...environment, sites: new Map(sites) }] as const;
    }),
  );
  await proxy.apply({ ...config, environments, hash: "ba9876543210" }, "file_change");
  expectReplay(await once("order-1"), first);
  expect((await once("order-2")).status).toBe(200);
  expect(upstream.requests[1]?.body).toContain('"version":"3.9"');
});

it("a result is written even if the configuration has long had other settings of Redis", async () => {
  let finish = () => {};
  // Waits of 20 s are shortened.
  const clock: Clock = { ...patientClock, after: (ms, task) => patientClock.after(ms === 20_000 ? 0 : ms, task) };
  const redis = await startRedis();
  const { once, upstream, proxy, config, lastEnd } = await stage(
    "once",
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
  expectReplay(await once("order-1"), await first);
});

it("equal keys of different sites are different keys, and so are keys in different case", async () => {
  const { once, upstream } = await stage("once", await startRedis(), undefined, { withBoth: true });
  expect((await once("order-1")).status).toBe(200);
  expect((await once("Order-1")).status).toBe(200);
  const elsewhere = { headers: { "Countersign-Site": bothSite, "Countersign-Auth": "hmac" } };
  const first = await once("order-1", elsewhere);
  expectReplay(await once("order-1", elsewhere), first);
  expect(upstream.requests).toHaveLength(3);
});

it("Redis holds neither key nor request nor a readable answer, the service sees no header of ours, and the key expires as configured", async () => {
  const redis = await startRedis();
  const key = "customer-4711/order-0815";
  const { once, upstream } = await stage("once", redis, undefined, {
    config: { once: { ttlMs: 3_600_000, waitMs: 1_000, header: "Countersign-Once" } },
  });
  const body = { order_amount: "10.50", site_customer_identifier: "customer-4711" };
  await once(key, { body });
  const [[name, value] = ["", ""]] = [...(await keysIn(redis))];
  expect(name).toMatch(/^countersign:2:\{[\w-]{43}\}:once$/);
  expect(value).toMatch(/^\d{13} \d{13} settled [0-9a-f-]{36} [0-9a-f]{8}\.[0-9a-f]{32} answered 200 [\w-]{100,300}$/);
  expect(Number(await redis.command("PTTL", name))).toBeGreaterThan(3_590_000);
  expect(Number(await redis.command("PTTL", name))).toBeLessThanOrEqual(3_600_000);
  expect(upstream.requests[0]?.head.toLowerCase()).not.toContain("countersign-");
});

it.each(["", "two words", "é", "x".repeat(256)])("the key %j is refused", async (key) => {
  const { url, simulator } = await stage();
  const answer = await call(url, order, { headers: { "Countersign-Once": Buffer.from(key).toString("latin1") } });
  expectFailure(answer, { status: 400, code: "malformed_request", detail: /1 to 255 visible ASCII/ });
  expect(simulator.counts().apiRequests).toBe(0);
});

it("without Redis a request with a key is refused, and one without is served", async () => {
  const { url, simulator, adminUrl } = await stage();
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
  const { port, adminUrl, upstream, recorder } = await stage("once", redis, undefined, {
    surroundings: { clock: systemClock },
  });
  redis.stop();
  const leaving = await RawConnection.open(port);
  leaving.write(rawPost({ more: ["Countersign-Once: order-1"] }));
  await whenInFlight({ adminUrl }, 1);
  leaving.socket.destroy();
  redis.cont();
  const { once } = await recorder.nth("request_finished", 1);
  expect(["freed", "recorded", "unavailable"]).toContain(once);
  const sent = upstream.requests.length;
  expect(sent).toBe(once === "recorded" ? 1 : 0);
  await expect.poll(async () => (await keysIn(redis)).size).toBe(sent);
});

/** An answer without Countersign's headers on the single request. */
function withoutOwn({ status, rawHeaders, text }: Called) {
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []));
  return { status, text, headers: lines.filter((line) => !/^(countersign-|connection:|keep-alive:)/i.test(line)) };
}

function expectReplay(again: Called, first: Called): void {
  expect(withoutOwn(again)).toEqual(withoutOwn(first));
  expect(again.headers).toMatchObject({ "countersign-replayed": "true", "countersign-outcome": "answered" });
  expect(again.headers["countersign-request-id"]).not.toBe(first.headers["countersign-request-id"]);
}
