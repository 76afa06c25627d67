/** If a site is configured so, a caller's own signature is checked and counted, and dropped as always. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { bothSite, canaries, childSite, hmacSite, type Stage, stage } from "../../../testkit/stage.ts";
import { signatureOf } from "../callbacks/sender.ts";

const order = {
  version: "3.0",
  site_identifier: hmacSite,
  timestamp: "1700000000",
  order_amount: "10.50",
  format: "json",
};

const stageChecking = () => stage({ withBoth: true, site: { checksCallerSignature: true } });

it.each<[string, object, string]>([
  ["with the site's default key", signed(order, canaries.keyOne), "valid"],
  ["with the key that it names", signed({ ...order, site_identifier: "K2000000002" }, canaries.keyTwo), "valid"],
  ["over numbers and booleans as they are written", signed({ ...order, n: 10, b: true }, canaries.keyOne), "valid"],
  ["with any values of exempt parameters", { ...signed(order, canaries.keyOne), format: "xml", call: "x" }, "valid"],
  ["over names in any case", signed({ ...order, Zulu: "1", alpha: "2" }, canaries.keyOne), "valid"],
  ["with another of the site's keys than the default", signed(order, canaries.keyTwo), "invalid"],
  [
    "with the default key, though it names another",
    signed({ ...order, site_identifier: "K2000000002" }, canaries.keyOne),
    "invalid",
  ],
  ["over another value", { ...signed(order, canaries.keyOne), order_amount: "10.51" }, "invalid"],
  ["in capitals", { ...order, signature: signed(order, canaries.keyOne).signature.toUpperCase() }, "invalid"],
  ["that is no signature", { ...order, signature: "é" }, "invalid"],
  ["without a timestamp", signed({ ...order, timestamp: "" }, canaries.keyOne), "incomplete"],
  ["that is empty", { ...order, signature: "" }, "missing"],
  ["that is absent", order, "missing"],
])("a signature %s", async (_, body, expected) => {
  const staged = await stageChecking();
  expect(await resultOf(staged, body)).toBe(expected);
  // The order was signed anew as it was sent: the simulator verifies this signature.
  expect(sentBy(staged)["timestamp"]).not.toBe(order.timestamp);
  const { value } = await scrape(staged.adminUrl);
  const labels = { environment: "sandbox", site: hmacSite };
  for (const result of ["valid", "invalid", "unknown_key", "incomplete", "missing"]) {
    const count = value("countersign_caller_signature_total", { ...labels, result });
    expect([result, count]).toEqual([result, result === expected ? 1 : 0]);
  }
});

it("at a site with OAuth, a signature is checked by the site's keys, and no signature is sent", async () => {
  const staged = await stageChecking();
  const body = signed({ ...order, site_identifier: bothSite }, canaries.keyOne);
  expect(await resultOf(staged, body)).toBe("valid");
  expect(sentBy(staged)).not.toHaveProperty("signature");
  expect(await resultOf(staged, signed({ ...order, site_identifier: childSite }, "any"))).toBe("unknown_key");
});

it("the parameters that a site exempts are not part of the signature", async () => {
  const exempt = new Set(["format", "signature", "call", "note"]);
  const staged = await stage({ withBoth: true, site: { checksCallerSignature: true, exempt } });
  const body = signed({ ...order, site_identifier: bothSite, note: "a" }, canaries.keyOne, [...exempt]);
  expect(await resultOf(staged, { ...body, note: "b" })).toBe("valid");
});

it("without the setting nothing is checked and there is no series", async () => {
  const staged = await stage();
  expect(await resultOf(staged, signed(order, canaries.keyOne))).toBeUndefined();
  expect((await scrape(staged.adminUrl)).families.get("countersign_caller_signature_total")?.samples).toEqual([]);
});

/** Parameters with the signature of a client, made by code of the tests. */
function signed(parameters: object, secret: string, exempt?: string[]) {
  return {
    ...parameters,
    signature: signatureOf({ ...parameters }, secret, exempt),
  };
}

async function resultOf(staged: Stage, body: object, headers = {}): Promise<string | undefined> {
  const { status, headers: answered } = await call(staged.url, body, { headers });
  expect(status).toBe(200);
  const id = answered["countersign-request-id"];
  const finished = await staged.recorder.nth("request_finished", 1, ({ requestId }) => requestId === id);
  return finished.callerSignature;
}

/** The parameters of the first request that the service got. */
function sentBy({ simulator }: Stage): Record<string, string> {
  return JSON.parse(simulator.seen.apiRequests[0]?.body.toString() ?? "");
}
