/** The application gets a callback once, and again only if it did not accept it. */
import { expect, it } from "vitest";
import type { CallbackResult } from "../../../src/model/events.ts";
import { addressOf } from "../../../testkit/address.ts";
import { accepts, startApplication } from "../../../testkit/stage/callbacks.ts";
import { type StageOf, stage } from "../../../testkit/stage.ts";
import { expectProblem, forms, freshCallback, type Given, json, send, sendJson, signatureOf } from "./sender.ts";

it.each(forms)("a repeated %s is answered with the application's status, and does not reach it", async (_, write) => {
  const staged = await stage("callbacks");
  const { application, callbackPort, metrics } = staged;
  application.answerWith((response) => response.writeHead(202).end("taken"));
  const callback = write(freshCallback());
  const answers = [];
  for (let time = 0; time < 3; time += 1) answers.push(await send(callbackPort, callback));
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [202, "taken"],
    [202, ""],
    [202, ""],
  ]);
  expect(application.received).toHaveLength(1);
  expect(await resultsOf(staged, 3)).toEqual(["delivered", "repeated", "repeated"]);
  expect((await metrics()).sum("countersign_callbacks_total", { result: "repeated" })).toBe(2);
});

it("of fifty equal callbacks at the same moment one reaches the application; the others are told to come again", async () => {
  const { application, callbackPort } = await stage("callbacks");
  application.answerWith((response, received) => setTimeout(() => accepts(response, received), 500));
  const callback = freshCallback();
  const answers = await Promise.all(Array.from({ length: 50 }, () => sendJson(callbackPort, callback)));
  expect(application.received).toHaveLength(1);
  const delivered = answers.filter(({ status }) => status === 200);
  const others = answers.filter(({ status }) => status !== 200);
  expect(delivered.length).toBeGreaterThanOrEqual(1);
  for (const other of others) {
    expectProblem(other, "callback_in_delivery");
    expect(other.headers["retry-after"]).toBe("1");
  }
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
});

it("a callback with another one's signature but other bytes is refused as a replay", async () => {
  const { application, callbackPort } = await stage("callbacks");
  const callback = freshCallback({ foo: "bar1" });
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  // The string to sign is the same for these and for the original (spec 5.2 step 4).
  const { foo: _, ...rest }: Given = callback;
  const shifted: Given = { ...rest, foob: "ar1" };
  const { signature, ...signed } = shifted;
  expect(signatureOf(signed)).toBe(signature);
  for (const other of [shifted, { ...callback, format: "xml" }]) {
    expectProblem(await sendJson(callbackPort, other), "callback_replayed");
  }
  expect(application.received).toHaveLength(1);
});

it.each([300, 301, 400, 404, 429, 500, 503])(
  "an answer %i goes back, and its callback may come again",
  async (status) => {
    const staged = await stage("callbacks");
    const { application, callbackPort } = staged;
    application.answerWith((response) => response.writeHead(status, { location: "http://127.0.0.1:1/" }).end());
    const callback = freshCallback();
    expect(await sendJson(callbackPort, callback)).toMatchObject({ status, text: "" });
    application.answerWith(accepts);
    expect((await sendJson(callbackPort, callback)).status).toBe(200);
    expect(application.received).toHaveLength(2);
    expect(await resultsOf(staged, 2)).toEqual(["declined", "delivered"]);
  },
);

it("a callback that finds no application for six hours is not_sent, and is then delivered once", async () => {
  const { application, callbackPort, clock, recorder } = await stage("callbacks");
  const callback = freshCallback();
  await application.stop();
  expectProblem(await sendJson(callbackPort, callback), "application_unreachable");
  expect(await recorder.nth("callback_finished", 1)).toMatchObject({ cause: "ECONNREFUSED", status: 502 });
  clock.push(6 * 3_600_000);
  await application.restart();
  for (let time = 0; time < 2; time += 1) expect((await sendJson(callbackPort, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
  clock.push(160 * 3_600_000);
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  clock.push(3 * 3_600_000);
  expect((await sendJson(callbackPort, callback)).status).toBe(422);
  expect(application.received).toHaveLength(1);
});

it("without Redis a process refuses callbacks from before its start, since they may be replays", async () => {
  const before = { timestamp: String(Math.floor(Date.now() / 1_000) - 60) };
  const strict = await stage("callbacks");
  const answer = await sendJson(strict.callbackPort, freshCallback(before));
  const { detail } = expectProblem(answer, "replay_store_unavailable");
  expect(detail).toContain("older than what this process remembers");
  expect(strict.application.received).toEqual([]);
  const lax = await stage("callbacks", { listener: { replay: "best_effort" } });
  expect((await sendJson(lax.callbackPort, freshCallback(before))).status).toBe(200);
  expect(await lax.recorder.nth("callback_finished", 1)).toMatchObject({ result: "delivered", isGuarded: false });
});

it("a callback that was answered 2xx may not come again, even if the answer's body broke off", async () => {
  const { application, callbackPort } = await stage("callbacks");
  application.answerWith((response) => {
    response.writeHead(200, { "content-length": "10" }).write("half");
    setTimeout(() => response.destroy(), 100);
  });
  const callback = freshCallback();
  expectProblem(await sendJson(callbackPort, callback), "application_failed", "unknown");
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
});

it("a callback whose caller leaves may not come again", async () => {
  const { application, callbackPort, recorder } = await stage("callbacks");
  const leaving = new AbortController();
  // The caller leaves once the callback is at the application, however slow the machine is.
  application.answerWith((response, received) => {
    leaving.abort();
    setTimeout(() => accepts(response, received), 300);
  });
  const callback = freshCallback();
  const sent = fetch(`http://127.0.0.1:${callbackPort}/`, {
    method: "POST",
    headers: { "content-type": json },
    body: JSON.stringify(callback),
    signal: leaving.signal,
  }).catch(() => "left");
  expect(await sent).toBe("left");
  expect(await recorder.nth("callback_finished", 1)).toMatchObject({ result: "delivered", callerLeft: true });
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
});

it("a reload forgets no callback", async () => {
  const { application, callbackPort, config, reload } = await stage("callbacks");
  const callback = freshCallback();
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  await reload({ limits: { ...config.limits, bodyBytes: 100_000 } });
  expect((await sendJson(callbackPort, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
  expect(await send(callbackPort, { type: json, body: "x".repeat(100_001) })).toMatchObject({ status: 413 });
});

it("a callback that is sent to two applications reaches each once", async () => {
  const { application, callbackPort, config, proxy, reload } = await stage("callbacks");
  const other = await startApplication("/other");
  const [listener = expect.unreachable()] = config.callbacks;
  const second = { ...listener, application: { ...listener.application, url: addressOf(other.url) } };
  await reload({ callbacks: [listener, second] });
  const [, bind] = proxy.binds.callbacks;
  const ports = [callbackPort, bind?.kind === "tcp" ? bind.port : 0];
  const callback = freshCallback();
  for (const port of [...ports, ...ports]) expect((await sendJson(port, callback)).status).toBe(200);
  expect([application.received.length, other.received.length]).toEqual([1, 1]);
});

async function resultsOf({ recorder }: StageOf<"callbacks">, count: number): Promise<CallbackResult[]> {
  await recorder.nth("callback_finished", count);
  return recorder.of("callback_finished").map(({ result }) => result);
}
