/** Proves row 5: more than 100 header lines or 16 KiB are refused, and no line is dropped in silence. */
import { expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { ask } from "../../../testkit/raw-caller.ts";
import { stageProxy } from "../../../testkit/stage.ts";

/** The lines that every raw order has: Host, Content-Type, Connection, Content-Length. */
const usualLines = 4;
const lines = (count: number) => Array.from({ length: count - usualLines }, (_, n) => `X-Line-${n}: 1`);

it("serves a request of 100 lines", async () => {
  const { port, simulator } = await stageProxy();
  expect((await ask(port, { more: lines(100) })).status).toBe(200);
  expect(simulator.counts().apiRequests).toBe(1);
});

it.each([101, 1_023, 1_024, 1_500])("refuses a request of %i lines", async (count) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, { more: lines(count) }), {
    status: 431,
    code: "headers_too_large",
    detail: /^The request has more than 100 header lines/,
  });
  expect(simulator.counts().apiRequests).toBe(0);
});

it.each([
  ["one long line", { more: [`X-Long: ${"x".repeat(16_384)}`] }],
  ["a long target", { target: `/${"x".repeat(16_384)}` }],
  ["200 KiB of head", { more: [`X-Long: ${"x".repeat(204_800)}`] }],
])("refuses a head over 16 KiB: %s", async (_, given) => {
  const { port, simulator } = await stageProxy();
  expectFailure(await ask(port, given), { status: 431, code: "headers_too_large", detail: /16 KiB/ });
  expect(simulator.counts().apiRequests).toBe(0);
});

it("never forwards an Authorization, be it the last of a hundred lines", async () => {
  const { port, simulator } = await stageProxy();
  const answer = await ask(port, { more: [...lines(99), "Authorization: Bearer of-the-caller"] });
  expect(answer.status).toBe(200);
  const [request] = await simulator.seen.whenApiRequests(1);
  const raw = request?.rawHeaders ?? [];
  const values = raw.filter((_, index) => raw[index - 1]?.toLowerCase() === "authorization");
  expect(values).toEqual(["Bearer token_1"]);
});
