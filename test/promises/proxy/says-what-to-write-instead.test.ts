/** A misspelt header or target is refused before anything is sent, and the answer says what was probably meant. */
import { expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

it.each([
  ["Countersign-Refrence: A-1042", /Countersign-Refrence is not a header .*; write Countersign-Reference\./],
  ["Countersign-Request-Id: a", /a header of Countersign's answers/],
])("%s", async (line, detail) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, { more: [line] }), { status: 400, code: "malformed_request", detail });
  expect(simulator.counts().apiRequests).toBe(0);
});

it("echoes the reference where it is spelt well and another header is not", async () => {
  const { port } = await stageProxy();
  const { text } = await ask(port, { more: ["Countersign-Reference: A-1", "Countersign-Oath: hmac"] });
  expect(JSON.parse(text)).toMatchObject({ code: "malformed_request", reference: "A-1" });
});

it.each([
  [
    "/json-api/create_order",
    403,
    "operation_not_allowed",
    /adds the base path \/json-api itself.* Call \/create_order\./,
  ],
  ["/create_order/", 400, "target_not_allowed", /empty segment.* Call \/create_order\./],
] as const)("POST %s is told what to call", async (target, status, code, detail) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, { target }), { status, code, detail });
  expect(simulator.counts()).toMatchObject({ apiRequests: 0, apiConnections: 0 });
});
