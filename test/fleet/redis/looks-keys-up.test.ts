/** What is known of a key can be asked for: nothing is sent, claimed or written by the question. */
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import { Secret } from "../../../src/model/secret.ts";
import { type CallOptions, call, get, order } from "../../../testkit/call.ts";
import { siteOf } from "../../../testkit/environment.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { RawConnection, rawPost } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accepted, keysIn } from "../../../testkit/stage/redis.ts";
import { bothSite, hmacSite, type StageOf, stage } from "../../../testkit/stage.ts";
import { allRights, anyPort } from "../../promises/proxy/callers.ts";

type Staged = StageOf<"once">;

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const reference = { "Countersign-Reference": "cart-1.a" };

function lookUp({ url }: Pick<Staged, "url">, key: string, headers: CallOptions["headers"] = {}) {
  return get(url, `/.countersign/once/${key}`, { headers });
}

/** The once keys in Redis: value, and when it ends. */
async function stateOf(redis: RealRedis) {
  const names = ((await redis.command("KEYS", "*:once")) as string[]).sort();
  const read = (name: string) => Promise.all(["GET", "PEXPIRETIME"].map((command) => redis.command(command, name)));
  return Promise.all(names.map(async (name) => [name, ...(await read(name))]));
}

/** The commands with a once key that reach Redis during the work, those of scripts included. */
async function commandsDuring(redis: RealRedis, work: () => Promise<unknown>): Promise<string[]> {
  const socket = connect(redis.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write("MONITOR\r\n");
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  // +OK
  await lines.next();
  await work();
  await redis.command("ECHO", "end");
  const seen: string[] = [];
  for (;;) {
    const { value: line = "" } = await lines.next();
    const [, command = ""] = /\] "(\w+)"/.exec(line) ?? [];
    if (line === "" || command.toLowerCase() === "echo") break;
    if (line.includes(':once"')) seen.push(command.toLowerCase());
  }
  socket.destroy();
  return seen;
}

/** Looks a key up, and expects that neither Redis nor the service noticed a change. */
async function lookUpOnly(staged: Staged, redis: RealRedis, key = "order-1") {
  const before = await stateOf(redis);
  const sent = staged.upstream.requests.length;
  // The first script of a connection may have to be loaded.
  let found = await lookUp(staged, key);
  // On a busy machine Redis may answer too late; the next trial comes within five seconds, and a look-up waits for one.
  for (let tries = 0; found.status === 503 && tries < 10; tries += 1) found = await lookUp(staged, key);
  const commands = await commandsDuring(redis, () => lookUp(staged, key));
  const troubles = staged.recorder.events.filter(({ kind }) => kind.startsWith("redis_"));
  expect(found.status, `${found.text}\n${JSON.stringify(troubles)}\n${JSON.stringify(before)}`).toBe(200);
  expect(found.headers).toMatchObject({
    "content-type": "application/json",
    "cache-control": "no-store",
    "countersign-outcome": "not_sent",
  });
  expect(found.headers).not.toHaveProperty("countersign-error");
  expect(await stateOf(redis)).toEqual(before);
  expect(commands).toEqual(["evalsha", "get"]);
  expect(staged.upstream.requests).toHaveLength(sent);
  return found.json;
}

it("a key is not known, then in progress, then answered; an order with it is sent once", async () => {
  let finish = () => {};
  const redis = await startRedis();
  const staged = await stage("once", redis, (_, socket) => {
    finish = () => void socket.write(accepted);
  });
  expect(await lookUpOnly(staged, redis)).toEqual({ state: "not_known" });
  const first = staged.once("order-1", { headers: reference });
  await staged.upstream.whenRequests(1);
  const open = await lookUpOnly(staged, redis);
  expect(open).toEqual({
    state: "in_progress",
    since: time,
    until: time,
    request_id: expect.any(String),
    reference: "cart-1.a",
  });
  const leaseMs = Date.parse(open.until) - Date.parse(open.since);
  const { requestMs } = staged.config.timeouts;
  expect(leaseMs).toBeGreaterThan(requestMs / 2);
  expect(leaseMs).toBeLessThanOrEqual(requestMs + 1_000);
  finish();
  const requestId = (await first).headers["countersign-request-id"];
  expect(open.request_id).toBe(requestId);
  const answered = { state: "answered", status: 200, since: open.since, request_id: requestId, reference: "cart-1.a" };
  expect(await lookUpOnly(staged, redis)).toEqual(answered);
  expect((await staged.once("order-1")).headers).toMatchObject({ "countersign-replayed": "true" });
  expect(staged.upstream.requests).toHaveLength(1);
});

it("with ?answer the kept answer comes byte for byte; one that is not kept is left out", async () => {
  const answers = [
    rawAnswer(402, "\x00\xff{}", "X-Order: 1\r\nX-Order: 2\r\n"),
    rawAnswer(200, "x".repeat(65_536)),
    rawAnswer(200, "x".repeat(65_537)),
  ];
  const redis = await startRedis();
  const staged = await stage(
    "once",
    redis,
    ({ number }, socket) => void socket.write(answers[number - 1] ?? "", "latin1"),
  );
  for (const key of ["short", "long", "longer"]) await staged.once(key);
  const { answer, ...short } = await lookUpOnly(staged, redis, "short?answer");
  expect(short).toMatchObject({ state: "answered", status: 402 });
  expect(Buffer.from(answer.body, "base64").toString("latin1")).toBe("\x00\xff{}");
  expect(answer.headers).toEqual(
    expect.arrayContaining([
      ["X-Order", "1"],
      ["X-Order", "2"],
      ["Content-Length", "4"],
    ]),
  );
  expect(Buffer.from((await lookUpOnly(staged, redis, "long?answer")).answer.body, "base64")).toHaveLength(65_536);
  const longer = await lookUpOnly(staged, redis, "longer?answer");
  expect(longer).toMatchObject({ state: "answered", status: 200 });
  for (const name of ["answer", "why"]) expect(longer).not.toHaveProperty(name);
});

it.each([
  { what: "broke off", answer: "", headers: {}, found: { why: "upstream_reset" } },
  {
    what: "was cut",
    answer: `HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{`,
    headers: {},
    found: { why: "upstream_reset" },
  },
  { what: "had no answer in time", headers: { "Countersign-Timeout-Ms": "200" }, found: { why: "upstream_timeout" } },
  { what: "was answered 503", answer: rawAnswer(503), headers: {}, found: { why: "undecided", status: 503 } },
])("a request that $what is unknown, and why", async ({ answer, headers, found }) => {
  const redis = await startRedis();
  const staged = await stage("once", redis, (_, socket) => void (answer === undefined || socket.end(answer)));
  const first = await staged.once("order-1", { headers: { ...reference, ...headers } });
  expect(first.headers["countersign-outcome"]).toBe("unknown");
  const request = { request_id: first.headers["countersign-request-id"], reference: "cart-1.a" };
  expect(await lookUpOnly(staged, redis, "order-1?answer")).toEqual({
    state: "unknown",
    since: time,
    ...request,
    ...found,
  });
});

it("a long answer that breaks off while the caller reads it is unknown, with its status", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, (_, socket) => {
    socket.end(rawAnswer(200, "x".repeat(140_000)).slice(0, -1));
  });
  const caller = await RawConnection.open(staged.port);
  caller.write(rawPost({ more: ["Countersign-Once: order-1"] }));
  await caller.ended();
  const found = { state: "unknown", status: 200, why: "upstream_reset" };
  expect(await lookUpOnly(staged, redis)).toMatchObject(found);
});

it("an order that was not sent leaves a key that is not known", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, { baseUrl: "http://127.0.0.1:1/json-api" });
  expectFailure(await staged.once("order-1"), { status: 502, code: "upstream_unreachable" });
  expect(await lookUpOnly(staged, redis)).toEqual({ state: "not_known" });
});

it.each(["a/b?c%d#e", "..x", "2+2=4;$&,@:!*'()", "x".repeat(255), "%2F"])(
  "the key %j is found, percent-encoded",
  async (key) => {
    const redis = await startRedis();
    const staged = await stage("once", redis);
    await staged.once(key);
    expect(await lookUpOnly(staged, redis, encodeURIComponent(key))).toMatchObject({ state: "answered" });
  },
);

it("a key is looked up at the site that the header names, else at the default site", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, { withBoth: true });
  await staged.once("order-1", { headers: { "Countersign-Site": bothSite, "Countersign-Auth": "hmac" } });
  expect((await lookUp(staged, "order-1")).json).toEqual({ state: "not_known" });
  expect((await lookUp(staged, "order-1", { "Countersign-Site": bothSite })).json).toMatchObject({ state: "answered" });
  const [own] = [...staged.config.environments.values()];
  const other = own && { ...own, name: "production", sites: new Map([["S9", siteOf("S9")]]), defaultSite: "S9" };
  await staged.reload({ environments: new Map([own, other].flatMap((each) => (each ? [[each.name, each]] : []))) });
  const refused = {
    status: 403,
    code: "site_not_configured",
    detail: / is configured in environment production, not /,
  } as const;
  const elsewhere = { "Countersign-Site": "S9" };
  expectFailure(await lookUp(staged, "order-1", elsewhere), refused);
  expectFailure(await call(staged.url, order, { headers: elsewhere }), refused);
});

it("a caller looks up keys of its sites, and reads answers of its operations", async () => {
  const callers = [
    { ...allRights, name: "all", tokens: [new Secret("canary-caller-token-all")] },
    {
      ...allRights,
      name: "payouts",
      tokens: [new Secret("canary-caller-token-payouts")],
      operations: new Set(["pay_out"]),
    },
    { ...allRights, name: "other", tokens: [new Secret("canary-caller-token-other")], sites: new Set([bothSite]) },
  ];
  const listeners = [
    { bind: anyPort, environment: "sandbox", hosts: [], callers: { kind: "named" as const, callers, tls: undefined } },
  ];
  const staged = await stage("once", await startRedis(), undefined, { config: { listeners } });
  const as = (name: string) => ({ "Proxy-Authorization": `Bearer canary-caller-token-${name}` });
  expect((await staged.once("order-1", { headers: as("all") })).status).toBe(200);
  expectFailure(await lookUp(staged, "order-1"), { status: 407, code: "caller_not_authenticated" });
  const [all, payouts, other] = [as("all"), as("payouts"), as("other")];
  expect((await lookUp(staged, "order-1?answer", all)).json).toHaveProperty("answer");
  expect((await lookUp(staged, "order-1", payouts)).json).toMatchObject({ state: "answered", status: 200 });
  const refused = { status: 403, code: "caller_not_allowed" } as const;
  expectFailure(await lookUp(staged, "order-1?answer", payouts), { ...refused, detail: /may not call create_order/ });
  expectFailure(await lookUp(staged, "order-1", other), { ...refused, detail: /may not use site/ });
});

it.each(["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])("%s is refused, and sends nothing", async (method) => {
  const { url, upstream } = await stage("once", await startRedis());
  const answer = await call(url, {}, { method, path: "/.countersign/once/order-1" });
  expect(answer.status).toBe(405);
  expect(answer.headers).toMatchObject({ allow: "GET", "countersign-error": "method_not_allowed" });
  expect(upstream.connections).toBe(0);
});

it.each([
  ["once/", "malformed_request", /1 to 255 visible ASCII/],
  [`once/${"x".repeat(256)}`, "malformed_request", /1 to 255/],
  ["once/two%20words", "malformed_request", /1 to 255/],
  ["once/%C3%A9", "malformed_request", /1 to 255/],
  ["once/%ff", "malformed_request", /1 to 255/],
  ["once/%2", "target_not_allowed", /percent-encode/],
  ["once/a/b", "target_not_allowed", /percent-encode/],
  ["once", "target_not_allowed", /only once\/<key>/],
  ["twice/a", "target_not_allowed", /only once\/<key>/],
  ["once/a?answers", "query_not_allowed", /only query is \?answer/],
] as const)("below /.countersign/ the path %s is refused: %s", async (path, code, detail) => {
  const { url, upstream } = await stage("once", await startRedis());
  expectFailure(await get(url, `/.countersign/${path}`), { status: 400, code, detail });
  expect(upstream.connections).toBe(0);
});

it("a foreign Host, a second key, and a header that asks for a guarantee are refused", async () => {
  const staged = await stage("once", await startRedis());
  const foreign = await lookUp(staged, "order-1", { Host: "evil.example" });
  expectFailure(foreign, { status: 403, code: "target_not_allowed" });
  const twice = await lookUp(staged, "order-1", { "Countersign-Once": "order-2" });
  expectFailure(twice, { status: 400, code: "malformed_request", detail: /leave Countersign-Once out/ });
  const guarantee = await lookUp(staged, "order-1", { "If-None-Match": '"1"' });
  expectFailure(guarantee, { status: 400, code: "guarantee_not_given" });
});

it("with Redis away it is 503 after once.wait, and an answer once Redis is back", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, { surroundings: { clock: systemClock } });
  await redis.kill();
  const startedMs = performance.now();
  const detail = /log says why \(redis_down, redis_failed\).* with the same key/;
  expectFailure(await lookUp(staged, "order-1"), { status: 503, code: "once_unavailable", detail });
  expect(performance.now() - startedMs).toBeLessThan(5_000);
  await redis.restart();
  await expect
    .poll(async () => (await lookUp(staged, "order-1")).json, { timeout: 10_000 })
    .toEqual({ state: "not_known" });
});

it("a Redis that accepts no writes answers look-ups", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis);
  await staged.once("order-1");
  await redis.config("maxmemory", 1);
  expect(await lookUpOnly(staged, redis)).toMatchObject({ state: "answered" });
  await redis.config("maxmemory", 0);
});

it("a damaged value is 503, and stays", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis);
  await staged.once("order-1");
  for (const name of (await keysIn(redis)).keys()) await redis.command("SET", name, "damaged");
  const before = await stateOf(redis);
  expectFailure(await lookUp(staged, "order-1"), { status: 503, code: "once_unavailable" });
  expect(await stateOf(redis)).toEqual(before);
});

it("without Redis no key can be looked up", async () => {
  const staged = await stage();
  const answer = await lookUp(staged, "order-1");
  expectFailure(answer, { status: 503, code: "once_unavailable", detail: /tokens\.cache: redis/ });
});

it("a look-up is logged without its key, and counts as no order", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis);
  const first = await staged.once("order-4711");
  const before = await staged.metrics();
  await lookUp(staged, "order-4711?answer");
  const event = await staged.recorder.nth("request_finished", 2);
  expect(event).toMatchObject({
    ...{ once: "looked_up", onceFirst: first.headers["countersign-request-id"], target: "/.countersign/once/…" },
    ...{ method: "GET", site: hmacSite, status: 200, by: "countersign", outcome: "not_sent", attempts: 0 },
  });
  expect(JSON.stringify(event)).not.toContain("order-4711");
  const after = await staged.metrics();
  expect(after.value("countersign_once_total", { environment: "sandbox", result: "looked_up" })).toBe(1);
  for (const name of ["countersign_requests_total", "countersign_answers_total"]) {
    expect(after.sum(name)).toBe(before.sum(name));
  }
  expect((await staged.status()).environments[0].recent.requests).toBe(1);
});
