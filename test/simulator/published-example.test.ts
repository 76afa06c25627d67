import { expect, test } from "vitest";
import { signatureOf, stringToSign } from "../../simulator/src/service/verify-signature.ts";
import { sendJson } from "./client.ts";
import { stage } from "./stage.ts";

const published = {
  version: "3.0",
  site_identifier: "MySiteID",
  timestamp: "1582149833",
  hello: "world",
  foo: "bar",
  format: "json",
};
const signature = "7986b4e59c15cd22fd496113c916f9739f619778812bf9ab8943af80749aadcc";

test("the published example has the published string to sign and signature", () => {
  const text = stringToSign(new Map(Object.entries(published)));
  expect(text).toBe("foobarhelloworldsite_identifierMySiteIDtimestamp1582149833version3.0");
  expect(signatureOf(text, "abc123")).toBe(signature);
});

test("the published example is accepted over a socket, and not a second too late", async () => {
  let nowMs = 1_582_149_833_000;
  const simulator = await stage({
    sites: [{ identifier: "MySiteID", keys: [{ identifier: "K1", secret: "abc123" }] }],
    timestampToleranceSeconds: 60,
    nowMs: () => nowMs,
  });
  const url = `${simulator.apiUrl}/any_operation`;
  const accepted = await sendJson(url, { ...published, signature });
  expect(JSON.parse(accepted.body)).toEqual({
    status: "ok",
    order: { order_id: "order_1", operation: "any_operation", received: published },
  });
  nowMs += 60_999;
  expect((await sendJson(url, { ...published, signature })).status).toBe(200);
  nowMs += 1;
  const late = await sendJson(url, { ...published, signature });
  expect(late.status).toBe(422);
  expect(JSON.parse(late.body)).toMatchObject({ error: "timestamp_implausible", detail: "timestamp is off by 61 s" });
});
