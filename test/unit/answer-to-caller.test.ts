/** How an answer is written to a caller: its framing, and a head that no content can break. */
import { describe, expect, it } from "vitest";
import { createHttpDate, formatHead, framingOf, idlenessAfar } from "../../src/adapters/http-server/answer.ts";
import { ShiftedClock } from "../../testkit/shifted-clock.ts";
import { refusalOf } from "./refusal-of.ts";

const responseOf = (status: number, headers: readonly string[]) =>
  ({ status, headers, body: new Uint8Array(), isLocal: false, isFramed: true }) as const;

it("an answer has the service's header lines unchanged, followed by Countersign's", () => {
  const response = responseOf(200, ["x-A", "b", "X-a", "", "Content-Length", "2"]);
  expect(formatHead(response, "length", idlenessAfar, undefined)).toBe(
    "HTTP/1.1 200 OK\r\nx-A: b\r\nX-a: \r\nContent-Length: 2\r\nConnection: keep-alive\r\nKeep-Alive: timeout=75\r\n\r\n",
  );
  expect(formatHead(responseOf(599, ["X", "\xe9\t"]), "chunks", undefined, "now")).toBe(
    "HTTP/1.1 599 unknown\r\nX: \xe9\t\r\nDate: now\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
  );
});

it("an answer with a header line that cannot be written is refused", () => {
  const refusal = refusalOf(() =>
    formatHead(responseOf(200, ["A", "b", "X", "a\nb"]), "length", idlenessAfar, undefined),
  );
  expect(refusal).toMatchObject({ code: "upstream_bad_response", causedBy: "head" });
});

it.each([101, 199, 1_000])("an answer with the status %i is refused, since no final answer has it", (status) => {
  const refusal = refusalOf(() => formatHead(responseOf(status, []), "length", idlenessAfar, undefined));
  expect(refusal).toMatchObject({ code: "upstream_bad_response" });
});

describe("framing", () => {
  const plain = responseOf(200, []);
  const sized = responseOf(200, ["content-LENGTH", "2"]);
  it.each([
    ["the length of the service's answer", sized, "POST", true, "length"],
    ["a length towards HTTP/1.0", sized, "POST", false, "length"],
    ["chunks if the answer has no length", plain, "POST", true, "chunks"],
    ["the close if the caller does not understand chunks", plain, "POST", false, "close"],
    ["no body of a 204", responseOf(204, []), "POST", true, "no body"],
    ["no body of a 304", responseOf(304, ["Content-Length", "2"]), "POST", true, "no body"],
    ["no body towards HEAD", sized, "HEAD", true, "no body"],
  ] as const)("%s", (_, response, method, isCurrent, framing) => {
    expect(framingOf(response, method === "HEAD", isCurrent)).toBe(framing);
  });
});

it("responses have a Date by the wall clock, to the second", () => {
  const clock = new ShiftedClock();
  const date = createHttpDate(clock);
  const before = date();
  expect(Math.abs(Date.parse(before) - clock.wallMs())).toBeLessThanOrEqual(2_000);
  clock.jumpWall(-86_400_000);
  expect(Math.abs(Date.parse(date()) - clock.wallMs())).toBeLessThanOrEqual(2_000);
});
