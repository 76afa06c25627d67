/** The simulated service sends callbacks, genuine and forged; a listener for callbacks accepts the genuine ones and refuses the forged ones. */
import { describe, expect, test } from "vitest";
import { freePort } from "../../testkit/free-port.ts";
import { type StageOf, stage } from "../../testkit/stage.ts";
import { sendJson } from "./simulate.ts";

describe.each(["json", "form", "query"])("callbacks in the form %s", (form) => {
  test("a genuine callback is accepted", async () => {
    const staged = await stage("callbacks");
    const { method, answers } = await order(staged, { form, parameters: { event: "order_paid" } });
    expect(method).toBe(form === "query" ? "GET" : "POST");
    expect(answers).toEqual([{ status: 200, body: "OK" }]);
    expect(staged.application.received).toHaveLength(1);
  });

  test.each([
    ["signature", 401, "signature_wrong"],
    ["value", 401, "signature_wrong"],
    ["key", 401, "signature_wrong"],
    ["timestamp", 422, "callback_too_old"],
    ["nested", 422, "nested_value"],
    ["repeated", 400, "duplicate_parameter"],
  ])("a callback with a forged %s is answered %i", async (forge, status, result) => {
    const staged = await stage("callbacks");
    const { answers } = await order(staged, { form, forge });
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expect((await staged.recorder.nth("callback_finished", 1)).result).toBe(result);
    expect(staged.application.received).toEqual([]);
  });
});

test("the same callback may be sent several times", async () => {
  const staged = await stage("callbacks");
  const { answers } = await order(staged, { site: "K2000000002", times: 3 });
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(staged.application.received).toHaveLength(1);
});

test("a callback that cannot be sent gets an error that says why", async () => {
  const { simulator } = await stage("callbacks");
  const url = `${simulator.controlUrl}/callback`;
  const errorOf = async (given: object) => (await sendJson(url, given)).json.error;
  expect(await errorOf({})).toBe("url must be an http URL");
  expect(await errorOf({ url: "http://127.0.0.1:1/", forge: "all" })).toMatch(/^forge is one of: signature,/);
  expect(await errorOf({ url: "http://127.0.0.1:1/", site: "S1000000001" })).toBe("S1000000001 has no key");
  expect(await errorOf({ url: "http://127.0.0.1:1/", parameters: { a: 1 } })).toMatch(/strings/);
  expect(await errorOf({ url: "http://127.0.0.1:1/", other: 1 })).toBe("a callback has no other");
});

test("an application that cannot be reached is no defect of the simulator", async () => {
  const { simulator } = await stage("callbacks");
  const { json } = await sendJson(`${simulator.controlUrl}/callback`, { url: `http://127.0.0.1:${await freePort()}/` });
  expect(json.answers[0].error).toMatch(/ECONNREFUSED/);
});

interface Outcome {
  readonly method: string;
  readonly answers: readonly { readonly status?: number; readonly error?: string }[];
}

async function order({ simulator, callbackPort }: StageOf<"callbacks">, given: object): Promise<Outcome> {
  const url = `http://127.0.0.1:${callbackPort}/hook`;
  const { json, status } = await sendJson(`${simulator.controlUrl}/callback`, { url, ...given });
  expect(status).toBe(200);
  return json;
}
