/** A person who has looked for an order settles its unknown outcome: page, alert, log and repetitions with its key say so. */
import { expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import { type CallOptions, call, get, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accepted, keysIn } from "../../../testkit/stage/redis.ts";
import { hmacSite, type Stage, type StageOf, type StageOptions, stage } from "../../../testkit/stage.ts";

type Staged = StageOf<"once">;

function settle({ statusUrl }: Pick<Stage, "statusUrl">, requestId: string, verdict: unknown, options?: CallOptions) {
  return call(statusUrl, verdict, { path: `/status/unknown/${requestId}`, ...options });
}

/** A replica before a service that breaks the first order's connection off, and accepts the others. */
function breaking(redis: RealRedis, options?: StageOptions): Promise<Staged> {
  return stage(
    "once",
    redis,
    ({ number }, socket) => void (number === 1 ? socket.end() : socket.write(accepted)),
    options,
  );
}

/** An order with this key whose outcome is unknown. @returns its request's id */
async function loseAnswer(staged: Staged, key = "order-1"): Promise<string> {
  const lost = await staged.once(key, { headers: { "Countersign-Reference": "cart-1" } });
  expect(lost.headers["countersign-outcome"]).toBe("unknown");
  const id = String(lost.headers["countersign-request-id"]);
  await staged.recorder.nth("request_finished", 1, ({ requestId }) => requestId === id);
  return id;
}

/** Another replica before the same service. */
function another(redis: RealRedis, { upstream }: Staged): Promise<Staged> {
  return stage("once", redis, undefined, { baseUrl: `${upstream.url}/json-api` });
}

const lookUp = async ({ url }: Staged, query = "") => (await get(url, `/.countersign/once/order-1${query}`)).json;
const openOutcomes = async (staged: Stage) => {
  const all = ["countersign_unknown_outcomes_total", "countersign_unknown_outcomes_settled_total"] as const;
  const metrics = await staged.metrics();
  return all.map((name) => metrics.sum(name, { environment: "sandbox", site: hmacSite }));
};

it("an order that was found is refused with what was found, and is off the list", async () => {
  const redis = await startRedis();
  const staged = await breaking(redis);
  const requestId = await loseAnswer(staged);
  expect(await staged.page()).toContain("1 outcome is unknown");
  expect(await openOutcomes(staged)).toEqual([1, 0]);
  const found = { found: true, note: "order 4711 at the service" };
  const settled = { request_id: requestId, environment: "sandbox", site: hmacSite, reference: "cart-1", ...found };
  const answer = await settle(staged, requestId, found);
  expect([answer.status, answer.json]).toEqual([200, { ...settled, key: "used" }]);

  for (const replica of [staged, await another(redis, staged)]) {
    const again = await replica.once("order-1");
    expectFailure(again, { status: 409, code: "already_sent", detail: /looked for and found/ });
    expect(again.json.first).toMatchObject({ request_id: requestId, outcome: "found", note: found.note });
    expect(await lookUp(replica, "?answer")).toMatchObject({
      ...{ state: "found", why: "upstream_reset", request_id: requestId, reference: "cart-1", note: found.note },
    });
  }
  expect(staged.upstream.requests).toHaveLength(1);
  for (const value of (await keysIn(redis)).values()) expect(value).not.toContain("4711");

  const [page, status] = [await staged.page(), await staged.status()];
  expect(page).toContain("No outcome is left unknown");
  expect(page).not.toContain("1 outcome is unknown");
  expect(page).toContain(found.note);
  expect(status.requests).toMatchObject({ unknownOutcomes: 1, settledOutcomes: 1 });
  expect(status.unknownOutcomes).toMatchObject([{ requestId, settled: { ...found, key: "used" } }]);
  expect(JSON.stringify(status)).not.toContain([...(await keysIn(redis)).keys()][0]?.split(/[{}]/)[1]);
  expect(await openOutcomes(staged)).toEqual([1, 1]);
  expect(staged.recorder.of("outcome_settled")).toMatchObject([{ requestId, reference: "cart-1", ...found }]);
});

it("settling again in the same way changes nothing; otherwise it is refused, at each replica", async () => {
  const redis = await startRedis();
  const staged = await breaking(redis);
  const other = await another(redis, staged);
  const requestId = await loseAnswer(staged);
  const first = await settle(staged, requestId, { found: true, note: "A" });
  const state = await keysIn(redis);
  expect((await settle(staged, requestId, { found: true, note: "B" })).json).toEqual(first.json);
  const byKey = { key: "order-1", note: "C" };
  expect((await settle(other, requestId, { found: true, ...byKey })).status).toBe(200);
  for (const [replica, verdict] of [
    [staged, { found: false }],
    [other, { found: false, ...byKey }],
  ] as const) {
    const refused = await settle(replica, requestId, verdict);
    expect(refused.headers["content-type"]).toBe("application/problem+json");
    expect(refused.json).toMatchObject({ status: 409, code: "outcome_settled", detail: /found\. The note says: A/ });
  }
  expect(await keysIn(redis)).toEqual(state);
  expect(await openOutcomes(staged)).toEqual([1, 1]);
  expect(staged.upstream.requests).toHaveLength(1);
});

it("an order that does not exist frees its key once: of many repetitions one is sent", async () => {
  const redis = await startRedis();
  const staged = await breaking(redis);
  const other = await another(redis, staged);
  const requestId = await loseAnswer(staged);
  const settling = [staged, staged, other].map((replica) =>
    settle(replica, requestId, { found: false, ...(replica === other ? { key: "order-1" } : {}) }),
  );
  const [own, again, byKey] = await Promise.all(settling);
  expect([own?.status, again?.status]).toEqual([200, 200]);
  // It came first, or after the key was free.
  expect([200, 404]).toContain(byKey?.status);
  expect(await lookUp(other)).toEqual({ state: "not_known" });
  const repetitions = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (index % 2 ? staged : other).once("order-1")),
  );
  expect(repetitions.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(staged.upstream.requests).toHaveLength(2);
  const later = await settle(staged, requestId, { found: false });
  expect(later.json).toEqual(own?.json);
  expect((await settle(staged, requestId, { found: true })).json).toMatchObject({ code: "outcome_settled" });
  expect((await settle(other, requestId, { found: false, key: "order-1" })).json).toMatchObject({
    code: "outcome_not_listed",
  });
  expect((await other.once("order-1")).headers).toMatchObject({ "countersign-replayed": "true" });
  expect(staged.upstream.requests).toHaveLength(2);
});

it("opposite verdicts at once have one winner", async () => {
  const redis = await startRedis();
  for (let round = 0; round < 10; round += 1) {
    const key = `order-${round}`;
    const verdicts = [round % 2 === 0, round % 2 === 1];
    const staged = await breaking(redis);
    const requestId = await loseAnswer(staged, key);
    const answers = await Promise.all(verdicts.map((found) => settle(staged, requestId, { found })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const isFound = verdicts[answers.findIndex(({ status }) => status === 200)];
    expect((await staged.once(key)).status).toBe(isFound ? 409 : 200);
    expect(staged.recorder.of("outcome_settled")).toHaveLength(1);
  }
});

it("of a killed process another one settles the order by its key, as soon as it cannot be answered any more", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, () => {}, { surroundings: { clock: systemClock } });
  const other = await another(redis, staged);
  const open = staged.once("order-1", { headers: { "Countersign-Timeout-Ms": "2000" } });
  await staged.upstream.whenRequests(1);
  const { request_id: requestId } = await lookUp(other);
  const byKey = { found: false, key: "order-1" };
  const refused = { status: 409, code: "outcome_not_unknown" };
  expect((await settle(other, requestId, byKey)).json).toMatchObject({ ...refused, detail: /under way until/ });
  // From here on its process cannot reach Redis, as if it were gone.
  const [name = ""] = (await keysIn(redis)).keys();
  const held = String(await redis.command("GET", name));
  await open;
  await redis.command("SET", name, held.replace(/^(\d+) \d+/, "$1 $1"));
  expect(await lookUp(other)).toMatchObject({ state: "unknown", why: "unrecorded" });
  for (const [id, verdict] of [
    [requestId, { found: false }],
    [requestId, { ...byKey, key: "order-2" }],
    ["00000000-0000-4000-8000-000000000000", byKey],
  ] as const) {
    expect((await settle(other, id, verdict)).json).toMatchObject({ status: 404, code: "outcome_not_listed" });
  }
  expect((await settle(other, requestId, byKey)).json).toMatchObject({ found: false, key: "free", site: hmacSite });
  expect(await lookUp(other)).toEqual({ state: "not_known" });
  expect(await openOutcomes(other)).toEqual([0, 0]);
});

it("an answer that comes before the verdict wins: the key is not freed, and repetitions get the answer", async () => {
  let finish = () => {};
  const redis = await startRedis();
  const staged = await stage("once", redis, (_, socket) => {
    finish = () => void socket.write(accepted);
  });
  const other = await another(redis, staged);
  const first = staged.once("order-1");
  await staged.upstream.whenRequests(1);
  const { request_id: requestId } = await lookUp(other);
  const verdict = (found: boolean) => settle(other, requestId, { found, key: "order-1" });
  for (const found of [true, false]) expect((await verdict(found)).json).toMatchObject({ code: "outcome_not_unknown" });
  // The answer and the verdict at once.
  finish();
  const racing = await Promise.all(Array.from({ length: 10 }, () => verdict(false)));
  expect((await first).status).toBe(200);
  for (const { json } of [...racing, await verdict(false)]) expect(json).toMatchObject({ code: "outcome_not_unknown" });
  expect((await verdict(true)).status).toBe(200);
  expect((await other.once("order-1")).headers).toMatchObject({ "countersign-replayed": "true" });
  expect(staged.upstream.requests).toHaveLength(1);
});

it("while Redis is away nothing is settled", async () => {
  const redis = await startRedis();
  const staged = await breaking(redis, { surroundings: { clock: systemClock } });
  const requestId = await loseAnswer(staged);
  await redis.kill();
  const refused = await settle(staged, requestId, { found: false });
  expect(refused.json).toMatchObject({ status: 503, code: "once_unavailable" });
  expect(await openOutcomes(staged)).toEqual([1, 0]);
  await redis.restart();
  await expect
    .poll(async () => (await settle(staged, requestId, { found: false })).status, { timeout: 10_000 })
    .toBe(200);
  expect((await staged.once("order-1")).status).toBe(200);
});

it("a result that is still to be written does not replace the verdict", async () => {
  let finish = () => {};
  const redis = await startRedis();
  const staged = await stage("once", redis, (_, socket) => {
    finish = () => void socket.end();
  });
  const other = await another(redis, staged);
  const first = staged.once("order-1");
  await staged.upstream.whenRequests(1);
  await redis.config("maxmemory", 1);
  finish();
  const requestId = String((await first).headers["countersign-request-id"]);
  await redis.config("maxmemory", 0);
  expect((await settle(staged, requestId, { found: false })).json).toMatchObject({ key: "free" });
  // Its end makes the writes that are left.
  await staged.proxy.stop("SIGTERM");
  expect(await lookUp(other)).toEqual({ state: "not_known" });
});

it("without a key the verdict is kept in the process", async () => {
  const staged = await stage({ environment: { defaultSite: hmacSite } });
  staged.simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
  const lost = await call(staged.url, order);
  const requestId = String(lost.headers["countersign-request-id"]);
  const answer = await settle(staged, requestId, { found: false });
  expect([answer.status, answer.json]).toEqual([
    200,
    { request_id: requestId, environment: "sandbox", site: hmacSite, found: false },
  ]);
  expect((await settle(staged, requestId, { found: true })).json).toMatchObject({ code: "outcome_settled" });
  expect(await openOutcomes(staged)).toEqual([1, 1]);
  expect((await settle(staged, "unknown", { found: true })).json).toMatchObject({ code: "outcome_not_listed" });
});

it.each([
  ["", /JSON object/],
  ["[]", /JSON object/],
  ["{}", /found must be true or false/],
  ['{"found":"yes"}', /found must be true or false/],
  ['{"found":true,"note":1}', /note must be/],
  ['{"found":true,"note":"two\\nlines"}', /note must be/],
  [`{"found":true,"note":"${"x".repeat(201)}"}`, /note must be/],
  ['{"found":true,"order":"A"}', /it has only/],
  ['{"found":true,"key":1}', /key must be a text/],
  ['{"found":true,"key":"two words"}', /1 to 255/],
  ['{"found":true,"key":"a","environment":"x"}', /environment must be one of/],
] as const)("the verdict %j is refused", async (text, detail) => {
  const staged = await stage("once", await startRedis());
  const answer = await settle(staged, "r-1", text);
  expect(answer.json).toMatchObject({ status: 400, code: "malformed_request", detail: expect.stringMatching(detail) });
});

it("only JSON of a few bytes that is posted to the port's own name is taken: no web page can send it", async () => {
  const staged = await breaking(await startRedis());
  const requestId = await loseAnswer(staged);
  const verdict = { found: false };
  for (const [options, status, body] of [
    [{ headers: { "Content-Type": "text/plain" } }, 415, verdict],
    [{ headers: { "Content-Type": "application/x-www-form-urlencoded" } }, 415, verdict],
    [{ headers: { Host: "evil.example" } }, 403, verdict],
    [{ method: "PUT" }, 405, verdict],
    [{}, 413, { ...verdict, note: "x".repeat(4_096) }],
    [{ path: "/status/unknown" }, 405, verdict],
    [{ path: "/status" }, 405, verdict],
  ] as const) {
    expect([options, (await settle(staged, requestId, body, options)).status]).toEqual([options, status]);
  }
  expect((await get(staged.statusUrl, `/status/unknown/${requestId}`)).status).toBe(405);
  const { adminUrl: statusUrl } = staged;
  expect((await settle({ statusUrl }, requestId, verdict)).status).toBe(405);
  expect(await openOutcomes(staged)).toEqual([1, 0]);
});

it("an answer that is undecided can be settled like one that never came", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, ({ number }, socket) => {
    socket.write(number === 1 ? rawAnswer(503) : accepted);
  });
  const requestId = await loseAnswer(staged);
  expect((await settle(staged, requestId, { found: false })).json).toMatchObject({ key: "free" });
  expect((await staged.once("order-1")).status).toBe(200);
});
