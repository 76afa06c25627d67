/** 10,000 random paths, methods and ids add no metric series, and each log line stays one JSON object. */
import { METHODS } from "node:http";
import { expect, it } from "vitest";
import { failureCodes, failures } from "../../../src/model/errors.ts";
import { retryResults } from "../../../src/model/events.ts";
import { call, order } from "../../../testkit/call.ts";
import { inParallel } from "../../../testkit/in-parallel.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { sendRaw } from "../../../testkit/raw-caller.ts";
import { drawSeed, seededRandom } from "../../../testkit/seeded-random.ts";
import { bothSite, childSite, hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const requests = 10_000;
const heads = 320;
const atOnce = 16;
/** Metrics whose series appear when something happens, and all values that their labels may have. */
const appearing = [
  "countersign_requests_total",
  "countersign_failures_total",
  "countersign_upstream_unauthorized_total",
  "countersign_retries_total",
];
const closed: Readonly<Record<string, readonly string[]>> = {
  environment: ["sandbox"],
  site: [oauthSite, childSite, hmacSite, bothSite, "none"],
  auth: ["oauth", "hmac", "none"],
  status: ["200", "499", ...new Set(Object.values(failures).map(({ status }) => String(status)))],
  by: ["service", "countersign"],
  code: failureCodes,
  outcome: ["answered", "unknown", "not_sent"],
  attempt: ["1", "2"],
  result: retryResults,
};
/** In every random value, so that the test finds it in any output. */
const mark = "zqx";

const repeat = (times: number, task: () => Promise<void>) => inParallel(atOnce, Array.from({ length: times }), task);

it.each([["its list", new Set(["create_order", "get_order"])] as const, ['a "*" list', "any"] as const])(
  "with %s of operations",
  { timeout: 120_000 },
  async (_, operations) => {
    const random = seededRandom(drawSeed("series"));
    const staged = await stage({ withBoth: true, environment: { operations } });
    const { url, port, adminUrl, statusUrl, metrics, recorder } = staged;
    await recorder.nth("token_adopted", 2);
    // The gauges of tokens in use, and of the clock, appear with the first orders.
    for (const site of [oauthSite, bothSite]) await call(url, order, { headers: { "Countersign-Site": site } });
    await recorder.nth("request_finished", 2);
    const before = await metrics();

    const agent = keepAlive(atOnce);
    const statuses = new Map<number, number>();
    await repeat(requests / 2, async () => {
      const { body, ...options } = makeUp(random);
      const { status } = await call(url, body, { ...options, agent });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
    await recorder.nth("request_finished", requests / 2 + 2);
    await repeat(heads / 2, async () =>
      expect(await sendRaw(port, makeUpHead(random).toString("latin1"))).toMatch(/^HTTP\/1\.1 4\d\d /),
    );
    const served = requests / 2 + 2 + heads / 2;
    await recorder.nth("request_finished", served);
    // The ports for people and probes count nothing at all.
    await repeat(heads / 2, async () => {
      const { path, method, headers } = makeUp(random);
      const target = path.startsWith("/") ? path : "/metrics";
      const { status } = await call(random() < 0.5 ? adminUrl : statusUrl, "", { path: target, method, headers });
      expect([200, 400, 404, 405]).toContain(status);
    });

    const after = await metrics();
    const added = [...after.families.values()]
      .filter(({ name }) => name.startsWith("countersign_"))
      .flatMap(({ name, samples }) => samples.map((sample) => ({ ...sample, family: name })))
      .filter(({ name, labels }) => before.value(name, labels) === undefined);
    const named = operations === "any" ? ["other", "none"] : [...operations, "other", "none"];
    for (const { family, labels } of added) {
      // The only new series are of metrics that have none before something happens.
      expect(appearing).toContain(family);
      for (const [label, value] of Object.entries(labels)) {
        expect({ label, values: label === "operation" ? named : closed[label] }).toMatchObject({
          label,
          values: expect.arrayContaining([value]),
        });
      }
    }
    expect(after.text).not.toContain(mark);
    expect(after.sum("countersign_requests_total")).toBe(served);
    expect(after.value("countersign_requests_in_flight", { environment: "sandbox" })).toBe(0);
    // The requests were varied enough.
    for (const status of [200, 400, 403, 405, 415, 422])
      expect(statuses.get(status) ?? 0, `${status}`).toBeGreaterThan(30);

    const log = logOf(recorder.events, "trace");
    expect(log.of("request_finished")).toHaveLength(served);
    expect(log.of()).toHaveLength(recorder.events.length);
  },
);

/** A random request: sometimes well-formed, mostly not. */
function makeUp(random: () => number) {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const word = () => mark + Math.floor(random() * 2 ** 48).toString(36);
  const path = pick([
    () => "/create_order",
    () => "/create_order",
    () => "/create_order",
    () => `/${word()}`,
    () => `/${word()}/${word()}/${word()}`,
    () => `/create_order?${word()}=${word()}`,
    () => `/%2e%2e/${word()}`,
    () => `http://${word()}.example/${word()}`,
    () => `/${word().repeat(200)}`,
  ]);
  const method = pick([() => "POST", () => "POST", () => "POST", () => pick(METHODS), () => word().toUpperCase()]);
  const site = pick([oauthSite, hmacSite, bothSite, `S${word()}`, `K${word()}`, word(), ""]);
  const headers = {
    ...(random() < 0.5 ? { "Countersign-Site": site } : {}),
    ...(random() < 0.2 ? { "Countersign-Auth": pick(["oauth", "hmac", word()]) } : {}),
    ...(random() < 0.5 ? { "Countersign-Reference": word() } : {}),
    ...(random() < 0.1 ? { "Countersign-Reference": pick([`"${word()}"`, word().repeat(9)]) } : {}),
    ...(random() < 0.5 ? { "X-Request-Id": `${word()}\\",{}\u00e9` } : {}),
    ...(random() < 0.5 ? { traceparent: `00-${word()}` } : {}),
    ...(random() < 0.2 ? { "Content-Type": `text/${word()}` } : {}),
  };
  const body = pick<unknown>([
    order,
    order,
    { ...order, site_identifier: `S${word()}` },
    { ...order, [word()]: word() },
    { ...order, order_type: `${word()} !` },
    { ...order, order_amount: word() },
    word(),
  ]);
  return { path: path(), method: safe(method()), headers, body };
}

/** Replaces CONNECT: a tunnel needs another client. */
function safe(method: string): string {
  return method === "CONNECT" ? "TRACE" : method;
}

/** A head that no client would write: any bytes in its target and its lines. */
function makeUpHead(random: () => number): Buffer {
  const byte = () => 1 + Math.floor(random() * 255);
  const bytes = (most: number) => String.fromCharCode(...Array.from({ length: random() * most }, byte));
  const target = random() < 0.5 ? "/create_order" : `/${mark}${bytes(20)}`;
  const lines = Array.from({ length: random() * 6 }, () => `${mark}${bytes(3)}: ${bytes(40)}${mark}`);
  const named = [
    `Countersign-Reference: ${mark}${bytes(9)}`,
    `traceparent: ${mark}${bytes(60)}`,
    "Host: localhost",
    "Connection: close",
  ];
  return Buffer.from(`POST ${target} HTTP/1.1\r\n${[...named, ...lines].join("\r\n")}\r\n\r\n`, "latin1");
}
