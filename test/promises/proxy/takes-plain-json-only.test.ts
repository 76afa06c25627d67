/** Proves row 10: a compressed body is refused and never inflated; and which Content-Types are JSON in UTF-8. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const refusal = { status: 415, code: "media_type_not_supported" } as const;

describe("a body with a coding is refused", () => {
  it.each(["GZIP", "zstd", "identity, gzip", ""])("%j", async (coding) => {
    const { url, simulator } = await stageProxy();
    const answer = await call(url, gzipSync(JSON.stringify(order)), { headers: { "content-encoding": coding } });
    expectFailure(answer, { ...refusal, detail: /^The body is compressed; send it as it is/ });
    expect(simulator.counts().apiRequests).toBe(0);
  });

  it("also when it hides in the Transfer-Encoding", async () => {
    const { port, simulator } = await stageProxy();
    const zipped = gzipSync(JSON.stringify(order)).toString("latin1");
    const framing = ["Transfer-Encoding: gzip, chunked"];
    const chunks = `${zipped.length.toString(16)}\r\n${zipped}\r\n0\r\n\r\n`;
    expectFailure(await ask(port, { framing, body: chunks }), {
      ...refusal,
      detail: /^The only Transfer-Encoding that is taken is chunked\./,
    });
    expect(simulator.counts().apiRequests).toBe(0);
  });

  it("but for none at all, written out", async () => {
    const { url } = await stageProxy();
    expect((await call(url, order, { headers: { "content-encoding": "Identity" } })).status).toBe(200);
  });

  it("and a compressed body that says nothing of it is no JSON", async () => {
    const { url, simulator } = await stageProxy();
    expectFailure(await call(url, gzipSync(JSON.stringify(order))), { status: 400, code: "body_not_json" });
    expect(simulator.counts().apiRequests).toBe(0);
  });
});

it.each([
  "Application/JSON",
  "application/json;charset=UTF-8",
  'application/json ; charset="utf-8"',
  "application/json;",
])("takes Content-Type %s", async (type) => {
  const { port } = await stageProxy();
  expect((await ask(port, { type: [`Content-Type: ${type}`] })).status).toBe(200);
});

it.each([
  [
    ["Content-Type: application/x-www-form-urlencoded"],
    /\(curl -d sends that\).* Add -H 'Content-Type: application\/json'/,
  ],
  [[], /^Content-Type is missing; .* Add -H/],
  [["Content-Type: text/json"], /is not JSON in UTF-8/],
  [["Content-Type: application/json; charset=iso-8859-1"], /is not JSON in UTF-8/],
  [["Content-Type: application/json; profile=x"], /is not JSON in UTF-8/],
  [["Content-Type: application/json", "content-type: application/json"], /more than once/],
])("refuses %j and says how to fix it", async (type, detail) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, { type }), { ...refusal, detail });
  expect(simulator.counts().apiRequests).toBe(0);
});
