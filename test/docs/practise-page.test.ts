import { describe, expect, it } from "vitest";
import { normalise } from "../../scripts/practise/page.ts";

// What keeps docs/practise.md true: what two runs of the same step may differ in. practise.test.ts follows the page.

describe("two good runs", () => {
  it.each([
    ["times", '"time":"2026-11-21T13:50:05.588Z"', '"time":"2026-11-22T01:02:03.004Z"'],
    ["request ids", "c622c86d-fec9-4203-a292-f0596d627780", "cb2a7d6f-1720-40fd-b076-5c51d44780e1"],
    [
      "hashes of the configuration",
      '"hash":"da9463ca7c8e","previousHash":"20ec98a025a1"',
      '"hash":"c1071ee17e51","previousHash":"552eb3a9d476"',
    ],
    ["how long things took", '"durationMs":7.682,"awayMs":1512', '"durationMs":12,"awayMs":3177.501'],
    ["how long a check took", "active (hash) (19 ms)", "active (hash)"],
    [
      "what is left of a pause",
      "left alone for another 9 s; Next try in 10 s",
      "left alone for another 8 s; Next try in 9 s",
    ],
    ["what is left of a life", "live for another 23 h", "live for another 24 h"],
  ])("may differ in %s", (_, one, other) => {
    expect(normalise(one)).toBe(normalise(other));
  });

  it.each([
    ["a status", "200 answered", "502 unknown"],
    ["a count", '"tokensIssued":9', '"tokensIssued":10'],
    ["a metric's value", 'countersign_redis_up{node="cache"} 1', 'countersign_redis_up{node="cache"} 0'],
    ["a number of rounds", '"attempts":1', '"attempts":2'],
    ["a setting in ms", "(limit 100 ms each)", "(limit 200 ms each)"],
    ["a time that is none", '"time":"2026-11-21T13:50:05.588Z"', '"time":"yesterday"'],
  ])("never differ in %s", (_, one, other) => {
    expect(normalise(one)).not.toBe(normalise(other));
  });
});
