/** Row 19: the service's verifier, which shares no code with the proxy, finds every signature right. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const reserved = new Set(["version", "site_identifier", "timestamp", "signature"]);
const name = fc
  .stringMatching(/^[A-Za-z0-9_.-]{1,20}$/)
  .filter((text) => !reserved.has(text) && !text.endsWith("_amount"));
const plainText = fc.stringMatching(/^[A-Za-z0-9_.-]{0,30}$/);
const decimal = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((cents) => cents / 100);
const value = fc.oneof(plainText, fc.boolean(), fc.integer(), decimal);
const body = fc.tuple(fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 30 }), decimal);

it("is verified by the service for every generated body", async () => {
  const { url, simulator } = await stageProxy();
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(body, async ([members, amount]) => {
      const text = JSON.stringify(Object.fromEntries([...members, ["order_amount", amount]]));
      const answer = await call(url, text, { headers: { "Countersign-Site": hmacSite } });
      expect({ status: answer.status, text: answer.status === 200 ? "" : answer.text }).toEqual({
        status: 200,
        text: "",
      });
      sent += 1;
    }),
    { numRuns: 400 },
  );
  expect(simulator.counts()).toMatchObject({ apiRequests: sent, accepted: sent, refused: 0 });
});
