/** A header that asks for a guarantee is obeyed, passed on, or refused before anything is sent; never dropped in silence. */
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { accessLines } from "../../../testkit/log-lines.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

const key = { "Idempotency-Key": '"order-4711"' };

it("two orders with an Idempotency-Key, as Countersign is by default, are refused, logged and counted", async () => {
  const staged = await stage();
  for (let n = 1; n <= 2; n++) {
    expectFailure(await call(staged.url, order, { headers: key }), {
      status: 400,
      code: "guarantee_not_given",
      detail:
        /^The header idempotency-key asks that the request takes effect once.* set once\.header to Idempotency-Key .* forwardHeaders\. /i,
    });
  }
  expect(staged.simulator.counts().apiRequests).toBe(0);
  const line = {
    level: "warn",
    status: 400,
    code: "guarantee_not_given",
    outcome: "not_sent",
    cause: "Idempotency-Key",
  };
  expect(await accessLines(staged, 2)).toMatchObject([line, line]);
  const { sum } = await staged.metrics();
  expect(sum("countersign_failures_total", { code: "guarantee_not_given", outcome: "not_sent" })).toBe(2);
});

it("forwardHeaders passes such a header on to the service, unless Connection names it", async () => {
  const environment = { forwardHeaders: ["idempotency-key", "if-match"] };
  const { url, upstream } = await stage("service", { answer: rawAnswer(200, "{}") }, { environment, oneSet: true });
  const headers = { ...key, "If-Match": '"1"', "Countersign-Site": hmacSite };
  expect((await call(url, order, { headers })).status).toBe(200);
  expect(upstream.requests[0]?.head).toMatch(/\r\nidempotency-key: "order-4711"/);
  expect(upstream.requests[0]?.head).toMatch(/\r\nif-match: "1"/);
  const dropped = await call(url, order, { headers: { ...headers, Connection: "Idempotency-Key" } });
  expect(dropped).toMatchObject({ status: 400 });
  expect(upstream.requests).toHaveLength(1);
});

it("with once.header the key is Countersign's: without Redis it is refused as Countersign-Once is", async () => {
  const once = { ttlMs: 900_000, waitMs: 1_000, header: "Idempotency-Key" } as const;
  const { url, simulator } = await stage({ config: { once } });
  for (const headers of [key, { "Countersign-Once": "order-4711" }]) {
    const answer = await call(url, order, { headers: headers as Record<string, string> });
    expectFailure(answer, { status: 503, code: "once_unavailable" });
  }
  const other = await call(url, order, { headers: { "X-Idempotency-Key": '"order-4711"' } });
  expectFailure(other, { status: 400, code: "guarantee_not_given" });
  expect(simulator.counts().apiRequests).toBe(0);
});

it("an order that came as early data of TLS is 425, so that it is sent again when it cannot be a replay", async () => {
  const { url, simulator } = await stage();
  const answer = await call(url, order, { headers: { "Early-Data": "1" } });
  expectFailure(answer, { status: 425, code: "guarantee_not_given" });
  expect(simulator.counts().apiRequests).toBe(0);
});

describe("a body", () => {
  it.each(["Countersign-Once", "countersign_once", "X-Countersign-Site", "countersign.reference"])(
    "does not take the header %s as a parameter",
    async (name) => {
      const { url, simulator } = await stage();
      const answer = await call(url, { ...order, [name]: "order-4711" });
      expectFailure(answer, { status: 422, code: "name_not_allowed", detail: /send the header\./ });
      expect(simulator.counts().apiRequests).toBe(0);
    },
  );

  it("passes every other parameter on to the service, which knows what it means", async () => {
    const { url, simulator } = await stage();
    const more = { idempotency_key: "order-4711", timeout: 5, dry_run: true, request_id: "a" };
    expect((await call(url, { ...order, ...more })).status).toBe(200);
    const sent = JSON.parse(String(simulator.seen.apiRequests[0]?.body));
    expect(sent).toMatchObject({ idempotency_key: "order-4711", timeout: "5", dry_run: "true", request_id: "a" });
  });
});

describe("below a pass-through route", () => {
  it("such headers pass to the service, except those that Connection names", async () => {
    const { send, upstream } = await stage("route", rawAnswer(200, "{}"));
    const more = ["Idempotency-Key: a", "If-Match: b", "Content-Digest: c", "X-Request-Timeout: 5"];
    expect((await send("POST /files/a", more)).status).toBe(200);
    const head = upstream.requests[0]?.head ?? "";
    for (const line of more) expect(head.toLowerCase()).toContain(line.toLowerCase());
    const dropped = await send("POST /files/a", [...more, "Connection: if-match"]);
    expect({ status: dropped.status, code: dropped.value("countersign-error") }).toEqual({
      status: 400,
      code: "guarantee_not_given",
    });
    expect(upstream.requests).toHaveLength(1);
  });
});
