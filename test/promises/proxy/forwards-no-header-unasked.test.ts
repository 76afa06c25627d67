/** Row 6: the caller's Authorization, cookies, hop-by-hop and Countersign-* headers never reach the service. */
import { describe, expect, it } from "vitest";
import { order } from "../../../testkit/call.ts";
import { ask, type RawPost } from "../../../testkit/raw-caller.ts";
import { type StageOptions, stageProxy } from "../../../testkit/stage.ts";

/** The header lines of the one request that the service got: name in lower case, and value. */
async function upstream(given: RawPost, options: StageOptions = {}) {
  const { port, simulator } = await stageProxy(options);
  const answer = await ask(port, given);
  expect(answer.status, answer.text).toBe(200);
  const [request] = await simulator.seen.whenApiRequests(1);
  const raw = request?.rawHeaders ?? [];
  const lines = raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ""] as const] : []));
  return { lines, parameters: JSON.parse(String(request?.body)) };
}

const namesOf = (lines: readonly (readonly [string, string])[]) => lines.map(([name]) => name).sort();
const always = [
  "accept",
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "host",
  "via",
  "x-request-id",
];

describe("what leaves", () => {
  it("has the caller's identification, languages and trace", async () => {
    const more = [
      "User-Agent: shop/1.0",
      "Accept-Language: de",
      "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "TraceState: vendor=1",
      "X-Request-ID: of-the-caller",
    ];
    const { lines } = await upstream({ more });
    expect(namesOf(lines)).toEqual([...always, "accept-language", "traceparent", "tracestate", "user-agent"].sort());
    expect(Object.fromEntries(lines)).toMatchObject({
      "user-agent": "shop/1.0",
      "accept-language": "de",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      tracestate: "vendor=1",
      "x-request-id": "of-the-caller",
    });
  });

  it("has what forwardHeaders names, whatever its casing, and no Via where that is off", async () => {
    const environment = { forwardHeaders: ["x-tenant"], via: false };
    const { lines } = await upstream({ more: ["X-TENANT: a", "x-tenant: b", "X-Other: c"] }, { environment });
    expect(namesOf(lines)).toEqual([...always.filter((name) => name !== "via"), "x-tenant", "x-tenant"].sort());
  });
});

it("what never leaves (the corpus has every header) is the caller's timestamp or signature", async () => {
  const body = JSON.stringify({ ...order, signature: "of-the-caller", timestamp: "1" });
  const { parameters } = await upstream({ body });
  expect(parameters).not.toHaveProperty("signature");
  expect(parameters.timestamp).toMatch(/^\d{10}$/);
});
