import { expect, it } from "vitest";
import { judgeRound } from "../../scripts/fuzz/judge-upstream.ts";

it("a caller whose timeout passed accounts for one request at the service, not for two", () => {
  const tag = "t0123456789ab";
  const received = "HTTP/1.1 504 Gateway Timeout\r\nCountersign-Outcome: unknown\r\nContent-Length: 0\r\n\r\n";
  const input = { door: "tcp", bytes: Buffer.alloc(0), slices: [], ending: "stay", tag } as const;
  const played = [{ input, transcript: { received, end: "closed" } }] as const;
  const upstream = [1, 2].map((number) => ({
    number,
    method: "POST",
    target: "/json-api/create_order",
    rawHeaders: ["Content-Length", String(tag.length)],
    body: tag,
    refusal: undefined,
  }));
  const round = { played, earlierTags: new Set<string>(), wereLeft: false };
  expect(judgeRound({ ...round, upstream: upstream.slice(0, 1) })).toEqual([]);
  expect(judgeRound({ ...round, upstream })).toEqual([
    { oracle: "upstream_unanswered", seen: "api_2 /json-api/create_order has no caller" },
  ]);
});
