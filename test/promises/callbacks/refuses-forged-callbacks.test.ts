/** A callback that the service has not signed never reaches the application, and is counted by its reason. */
import { expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import type { CallbackResult } from "../../../src/model/events.ts";
import { sitesChanged } from "../../../testkit/environment.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { stage } from "../../../testkit/stage.ts";
import {
  callbackOf,
  form,
  formOf,
  freshCallback,
  type Given,
  json,
  type Sent,
  secret,
  send,
  sendJson,
} from "./sender.ts";

const gzipped = { more: ["Content-Encoding: gzip"] };
const alsoInQuery = { target: "/hook?event=order_paid" };
const inForm = (behind: string): Sent => ({ type: form, body: `${formOf(freshCallback())}${behind}` });

const inPast = (seconds: number) => String(Math.floor(Date.now() / 1_000) - seconds);
const huge = (count: number) => formOf(Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, "1"])));

const cases: readonly (readonly [what: string, status: number, result: CallbackResult, sent: () => Sent])[] = [
  ["no signature", 401, "parameter_missing", () => inJson(without("signature"))],
  ["no timestamp", 401, "parameter_missing", () => inJson(without("timestamp"))],
  ["a wrong signature", 401, "signature_wrong", () => inJson({ ...freshCallback(), signature: "0".repeat(64) })],
  ["a value changed", 401, "signature_wrong", () => inJson({ ...freshCallback(), event: "refunded" })],
  ["a parameter added", 401, "signature_wrong", () => inJson({ ...freshCallback(), amount: "1.00" })],
  ["another's key", 401, "signature_wrong", () => inJson(callbackOf({}, "someone's key of 16 bytes"))],
  ["another site", 401, "site_unknown", () => inJson(freshCallback({ site_identifier: "S1000000666" }))],
  ["a site without keys", 401, "key_missing", () => inJson(freshCallback({ site_identifier: "S1000000001" }))],
  ["another version", 401, "key_missing", () => inJson(freshCallback({ version: "2.0" }))],
  ["a timestamp in ms", 401, "timestamp_invalid", () => inJson(freshCallback({ timestamp: `${inPast(0)}000` }))],
  ["a timestamp of 8 days ago", 422, "callback_too_old", () => inJson(freshCallback({ timestamp: inPast(691_200) }))],
  ["a timestamp in the future", 503, "callback_too_early", () => inJson(freshCallback({ timestamp: inPast(-700) }))],
  ["a list", 422, "nested_value", () => inJson({ ...freshCallback(), items: ["1", "2"] })],
  ["an object", 422, "nested_value", () => inJson({ ...freshCallback(), item: { id: "1" } })],
  ["a list in a form", 422, "nested_value", () => inForm("&items[]=1")],
  ["null", 422, "null_value", () => inJson({ ...freshCallback(), item: null })],
  ["a repeated name", 400, "duplicate_parameter", () => inForm("&event=x")],
  ["a name in query and body", 400, "duplicate_parameter", () => inJson(freshCallback(), alsoInQuery)],
  ["half an escape", 400, "malformed_request", () => inForm("&a=%4")],
  ["no JSON", 400, "body_not_json", () => ({ type: json, body: "event=order_paid" })],
  ["another media type", 415, "media_type_not_supported", () => ({ type: "text/xml", body: "<a/>" })],
  ["a compressed body", 415, "media_type_not_supported", () => inJson(freshCallback(), gzipped)],
  ["another method", 405, "method_not_allowed", () => ({ method: "PUT", type: json, body: "{}" })],
  ["a URL for a target", 400, "target_not_allowed", () => inJson(freshCallback(), { target: "http://app.example/" })],
  ["two hosts", 400, "malformed_request", () => inJson(freshCallback(), { more: ["Host: other"] })],
  ["too many parameters", 400, "malformed_request", () => ({ type: form, body: huge(1_001) })],
  ["too long a body", 413, "body_too_large", () => ({ type: form, body: `a=${"x".repeat(262_144)}` })],
  ["a form that is announced as JSON", 400, "body_not_json", () => ({ type: json, body: formOf(freshCallback()) })],
];

it.each(cases)("a callback with %s is answered %i and counted as %s", async (_, status, result, write) => {
  const { application, callbackPort, metrics, recorder } = await stage("callbacks");
  const answer = await send(callbackPort, write());
  expect(answer.status).toBe(status);
  expect(answer.headers["countersign-outcome"]).toBe("not_sent");
  expect(JSON.parse(answer.text)).toMatchObject({ status, outcome: "not_sent", detail: /Nothing reached/ });
  const event = await recorder.nth("callback_finished", 1);
  expect(event).toMatchObject({ result, status, outcome: "not_sent" });
  const { sum } = await metrics();
  expect(sum("countersign_callbacks_total", { result })).toBe(1);
  expect(application.received).toEqual([]);
});

it("bytes that are no HTTP are counted, and logged without a method and a target", async () => {
  const { application, callbackPort, recorder } = await stage("callbacks");
  expect((await ask(callbackPort, "nonsense\r\n\r\n")).status).toBe(400);
  const event = await recorder.nth("callback_finished", 1);
  expect(event).toMatchObject({ result: "malformed_request", outcome: "not_sent" });
  expect([event.method, event.target]).toEqual([undefined, undefined]);
  expect(application.received).toEqual([]);
});

it.each([
  ["S1000000666", "S1000000666"],
  ["a secret of a caller", undefined],
  ['S1","level":"error', undefined],
])(
  "the log names the unknown site of a callback if it has the form of one: %s",
  async (site_identifier, unknownSite) => {
    const { callbackPort, recorder } = await stage("callbacks");
    for (let sent = 0; sent < 2; sent += 1) await sendJson(callbackPort, freshCallback({ site_identifier }));
    await recorder.nth("callback_finished", 2);
    const [first, line] = logOf(recorder.events, "info").of("callback_finished");
    expect(line.unknownSite).toBe(unknownSite);
    expect(line.message).toBe(`callback: 401 site_unknown${unknownSite === undefined ? "" : ` (${unknownSite})`}`);
    // The first in a minute says what to do.
    expect(first.message).toContain("; configure that site or key, or see in the portal");
    expect(line).not.toHaveProperty("site");
  },
);

it("a 401 names its scheme, and is the same for every reason", async () => {
  const { callbackPort } = await stage("callbacks");
  const answers = [
    await sendJson(callbackPort, callbackOf({}, "someone's key of 16 bytes")),
    await sendJson(callbackPort, freshCallback({ site_identifier: "S1000000666" })),
    await sendJson(callbackPort, freshCallback({ timestamp: "now" })),
  ];
  const bodies = answers.map(({ text }) => text.replace(/"request_id":"[^"]+"/, ""));
  expect(new Set(bodies).size).toBe(1);
  for (const { headers } of answers) expect(headers["www-authenticate"]).toBe('HMAC realm="callbacks"');
});

it("a callback's age is taken by this machine's clock, and a callback that was too early is accepted in time", async () => {
  const hourMs = 3_600_000;
  const skewedBy = (ms: number) => ({ ...systemClock, wallMs: () => Date.now() + ms });
  for (const [ms, status] of [
    [hourMs - 5_000, 200],
    [hourMs + 5_000, 422],
    [-595_000, 200],
    [-605_000, 503],
  ] as const) {
    const listener = { rememberMs: hourMs, replay: "best_effort" } as const;
    const { callbackPort } = await stage("callbacks", { surroundings: { clock: skewedBy(ms) }, listener });
    const { status: given, headers } = await sendJson(callbackPort, freshCallback());
    expect({ ms, given }).toEqual({ ms, given: status });
    if (status === 503) expect(Number(headers["retry-after"])).toBeLessThanOrEqual(6);
  }
});

it("a leaked key that is not the default key forges only callbacks that name the key, none that name the site", async () => {
  const { application, callbackPort, recorder } = await stage("callbacks");
  const leaked = "canary-api-secret-key-two";
  const forged = callbackOf({ a: "1" }, leaked);
  expect((await sendJson(callbackPort, forged)).status).toBe(401);
  expect((await sendJson(callbackPort, callbackOf({ site_identifier: "K2000000001" }, leaked))).status).toBe(401);
  expect(application.received).toEqual([]);
  expect((await sendJson(callbackPort, callbackOf({ site_identifier: "K2000000002" }, leaked))).status).toBe(200);
  expect((await recorder.nth("callback_finished", 3)).key).toBe("K2000000002");
});

it("both keys of a site are accepted while one replaces the other, as long as the site names both", async () => {
  const { application, callbackPort, config, reload } = await stage("callbacks");
  const alsoVerify = (untilMs: number) =>
    reload(
      sitesChanged(config, (one) => ({ ...one, alsoVerifyWith: one.keys.slice(1).map((key) => ({ key, untilMs })) })),
    );
  await alsoVerify(Date.now() + 60_000);
  const sign = (by: string, more: Given) => callbackOf(more, by);
  expect((await sendJson(callbackPort, sign(secret, { a: "1" }))).status).toBe(200);
  expect((await sendJson(callbackPort, sign("canary-api-secret-key-two", { a: "2" }))).status).toBe(200);
  expect(application.received.map(({ headers }) => new Map(headers).get("countersign-verified"))).toEqual([
    "K2000000001",
    "K2000000002",
  ]);
  await alsoVerify(Date.now() - 1);
  expect((await sendJson(callbackPort, sign("canary-api-secret-key-two", { a: "3" }))).status).toBe(401);
});

it("a listener for applications accepts no callback, and a listener for callbacks no order", async () => {
  const { application, callbackPort, port, simulator } = await stage("callbacks");
  expect((await sendJson(port, freshCallback())).status).not.toBe(200);
  expect((await send(callbackPort, { target: "/create_order", ...inJson({ order_amount: "1.00" }) })).status).toBe(401);
  expect(application.received).toEqual([]);
  expect(simulator.counts().apiRequests).toBe(0);
});

function inJson(parameters: object, more: Sent = {}): Sent {
  return {
    type: json,
    body: JSON.stringify(parameters),
    ...more,
  };
}

function without(name: string) {
  const { [name]: _, ...rest } = freshCallback();
  return rest;
}
