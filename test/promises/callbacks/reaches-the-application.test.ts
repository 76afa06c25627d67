/** A genuine callback reaches the application as it came, and nothing else does. */
import { describe, expect, it } from "vitest";
import { stage } from "../../../testkit/stage.ts";
import { callbackOf, formOf, forms, freshCallback, headersOf, json, key, send, sendJson, site } from "./sender.ts";

describe.each(forms)("a genuine callback (%s)", (_, write) => {
  it("reaches the application byte for byte, and its answer goes back", async () => {
    const { application, callbackPort } = await stage("callbacks");
    application.answerWith((response) =>
      response.writeHead(202, { "content-type": "application/json", "x-own": "1" }).end('{"taken":true}'),
    );
    const sent = write(freshCallback({ note: "paid in full €", empty: "" }));
    const answer = await send(callbackPort, sent);
    expect(answer).toMatchObject({ status: 202, text: '{"taken":true}' });
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "x-own": "1",
      "countersign-outcome": "answered",
    });
    const [received, ...more] = application.received;
    expect(more).toEqual([]);
    const [, query] = (sent.target ?? "").split("?");
    const target = query === undefined ? "/callbacks" : `/callbacks?${query}`;
    expect(received).toMatchObject({ method: sent.method ?? "POST", target });
    expect(received?.body.toString("utf8")).toBe(sent.body ?? "");
    const headers = received === undefined ? new Map() : headersOf(received);
    expect(headers.get("content-type")).toBe(sent.type);
    expect(headers.get("countersign-verified")).toBe(key);
    expect(headers.get("x-request-id")).toBe(answer.headers["countersign-request-id"]);
    expect(headers.get("host")).toBe(new URL(application.url).host);
  });
});

it("white space, escapes and the order of a body stay as they are", async () => {
  const { application, callbackPort } = await stage("callbacks");
  const { signature, ...rest } = callbackOf({ name: "Zoë" });
  const body = `  {"signature" :\t"${signature}",\r\n "name":"Zo\\u00EB",${JSON.stringify(rest)
    .slice(1, -1)
    .replace(/"name":"Zoë",?/, "")
    .replace(/,$/, "")}} \n`;
  expect(await send(callbackPort, { type: "application/json; charset=UTF-8", body })).toMatchObject({ status: 200 });
  expect(application.received[0]?.body.toString("utf8")).toBe(body);
});

it("a body that comes in chunks arrives whole", async () => {
  const { application, callbackPort } = await stage("callbacks");
  const body = JSON.stringify(freshCallback());
  const response = await fetch(`http://127.0.0.1:${callbackPort}/`, {
    method: "POST",
    headers: { "content-type": json },
    body: new Blob([body]).stream(),
    duplex: "half",
  } as RequestInit);
  expect(response.status).toBe(200);
  expect(application.received[0]?.body.toString("utf8")).toBe(body);
});

it("parameters may be in the query and in the body of one callback, all signed", async () => {
  const { application, callbackPort } = await stage("callbacks");
  const { event = "", ...rest } = freshCallback();
  const target = `/hook?event=${event}`;
  expect(await send(callbackPort, { target, type: json, body: JSON.stringify(rest) })).toMatchObject({ status: 200 });
  expect(application.received[0]?.target).toBe(`/callbacks?event=${event}`);
  const more = { target: "/hook?action=delete", type: json, body: JSON.stringify(freshCallback()) };
  expect(await send(callbackPort, more)).toMatchObject({ status: 401 });
  expect(application.received).toHaveLength(1);
});

it("parameters may be exempt from the signature, as in the service's own verifiers", async () => {
  const exempt = new Set(["signature", "format", "call", "action", "controller", "fp", "print_buttons", "route_info"]);
  const { application, callbackPort } = await stage("callbacks", { listener: { exempt } });
  const parameters = { ...freshCallback(), controller: "orders", route_info: "a b" };
  expect(await send(callbackPort, { type: json, body: JSON.stringify(parameters) })).toMatchObject({ status: 200 });
  expect(application.received).toHaveLength(1);
});

it("a caller cannot set a header of Countersign's, in any spelling", async () => {
  const { application, callbackPort } = await stage("callbacks");
  const answer = await sendJson(callbackPort, freshCallback(), [
    "Countersign-Verified: K9999999999",
    "countersign_verified: K9999999998",
    "COUNTERSIGN-VERIFIED: K9999999997",
    "Countersign-Request-Id: forged",
    "X-Forwarded-For: 10.0.0.1",
    "Authorization: Bearer forged",
    "Cookie: a=b",
    "Connection: user-agent",
    "User-Agent: sender/1",
    "X-Request-Id: their-own-id",
  ]);
  expect(answer.status).toBe(200);
  const names = application.received[0]?.headers.map(([name]) => name).sort();
  expect(names?.join(" ")).toBe("connection content-length content-type countersign-verified host x-request-id");
  expect(application.received[0] && headersOf(application.received[0]).get("x-request-id")).toBe("their-own-id");
  expect(application.received[0]?.headers.filter(([name]) => /^countersign/.test(name))).toEqual([
    ["countersign-verified", key],
  ]);
});

it("the Content-Type by which a body was read reaches the application, even if Connection names it", async () => {
  const { application, callbackPort } = await stage("callbacks");
  await sendJson(callbackPort, freshCallback(), ["Connection: content-type"]);
  expect(application.received.map((received) => headersOf(received).get("content-type"))).toEqual([json]);
});

it("an answer's headers in Countersign's name are not passed on", async () => {
  const { application, callbackPort } = await stage("callbacks");
  application.answerWith((response) =>
    response.writeHead(200, { "Countersign-Error": "forged", "Countersign-Outcome": "unknown" }).end(),
  );
  const { headers } = await sendJson(callbackPort, freshCallback());
  expect(headers["countersign-error"]).toBeUndefined();
  expect(headers["countersign-outcome"]).toBe("answered");
});

it("each callback is one log line and is counted by its result, and no parameter's value is in either", async () => {
  const { callbackPort, metrics, recorder } = await stage("callbacks");
  await sendJson(callbackPort, freshCallback({ email: "canary@payer.example" }));
  const event = await recorder.nth("callback_finished", 1);
  expect(event).toMatchObject({ site, key, form: "json", result: "delivered", status: 200, outcome: "answered" });
  expect(event).toMatchObject({ method: "POST", target: "/hook", listener: "127.0.0.1:0", responseBytes: 2 });
  expect(event.isGuarded).toBeUndefined();
  expect(JSON.stringify(event)).not.toContain("canary");
  const { value } = await metrics();
  expect(value("countersign_callbacks_total", { environment: "sandbox", site, result: "delivered" })).toBe(1);
  expect(value("countersign_requests_total", { environment: "sandbox" })).toBeUndefined();
});

it("the URL of the application may be without a path", async () => {
  const { application, callbackPort } = await stage("callbacks", { path: "" });
  const target = `/any?${formOf(freshCallback())}`;
  expect(await send(callbackPort, { method: "GET", target })).toMatchObject({ status: 200 });
  expect(application.received[0]?.target).toBe(`/${target.slice("/any".length)}`);
});
