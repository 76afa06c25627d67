import { describe, expect, it } from "vitest";
import {
  type AnswerHistory,
  afterAcceptance,
  type Evidence,
  noAnswers,
  suppressionOf,
} from "../../../src/oauth/forced-refresh-policy.ts";

/** One request in a hundred had trouble of its own. */
const busy: AnswerHistory = { accepted: 990, refused: 10, run: 1 };
const quiet: AnswerHistory = { accepted: 5, refused: 0, run: 1 };
const unknown: Evidence = {
  isPaused: false,
  isProven: false,
  isTrusted: false,
  history: noAnswers,
  uselessTokens: 0,
  doubtfulTokens: 0,
  doubtfulOfSite: 0,
};
const proven: Evidence = { ...unknown, isProven: true, history: busy };
const doubted = (count: number) => ({ isTrusted: true, doubtfulTokens: count, doubtfulOfSite: count });

describe("whether a 401 may cost a token", () => {
  it.each<[string, Evidence, ReturnType<typeof suppressionOf>]>([
    ["the first 401 of all", unknown, undefined],
    ["a third useless token of an unknown one", { ...unknown, uselessTokens: 2 }, undefined],
    ["a fourth", { ...unknown, uselessTokens: 3 }, "limited"],
    ["a site that pauses", { ...unknown, isPaused: true }, "paused"],
    ["a site that pauses, with a trusted past", { ...unknown, isPaused: true, isTrusted: true }, "paused"],
    ["a trusted site beside others' useless ones", { ...unknown, isTrusted: true, uselessTokens: 5 }, undefined],
    ["a trusted site beside too many", { ...unknown, isTrusted: true, uselessTokens: 6 }, "limited"],
    ["a single 401 for a proven token", proven, undefined],
    ["another useless one for it", { ...proven, uselessTokens: 1 }, undefined],
    ["a third: the rest is kept for the token's end", { ...proven, uselessTokens: 2 }, "limited"],
    ["a run that may be chance", { ...proven, history: { ...busy, run: 2 }, uselessTokens: 2 }, "limited"],
    ["a run that cannot be", { ...proven, history: { ...busy, run: 3 }, uselessTokens: 2 }, undefined],
    ["such a run in a pause", { ...proven, history: { ...busy, run: 3 }, isPaused: true }, undefined],
    ["such a run beyond the limit", { ...proven, history: { ...busy, run: 30 }, uselessTokens: 3 }, "limited"],
    [
      "such a run of a token that was never accepted",
      { ...unknown, history: { ...busy, run: 30 }, isPaused: true },
      "paused",
    ],
    ["a short run at a quiet site", { ...proven, history: { ...quiet, run: 5 }, isPaused: true }, "paused"],
    ["401s at random that each retry heals: the third", { ...proven, ...doubted(2) }, undefined],
    ["the fourth within a minute", { ...proven, ...doubted(3) }, "limited"],
    ["the fourth at a site of few answers", { ...proven, ...doubted(3), history: quiet }, undefined],
    ["the seventh there", { ...proven, ...doubted(6), history: quiet }, "limited"],
    [
      "a run that cannot be chance, after many of them",
      { ...proven, ...doubted(9), history: { ...busy, run: 3 } },
      undefined,
    ],
    ["another site's real one beside them", { ...proven, isTrusted: true, doubtfulTokens: 5 }, undefined],
    ["one more beside them at all sites", { ...proven, isTrusted: true, doubtfulTokens: 6 }, "limited"],
    ["one useless and one doubtful token", { ...proven, uselessTokens: 1, doubtfulTokens: 1 }, "limited"],
    ["a longer run at a quiet site", { ...proven, history: { ...quiet, run: 6 }, isPaused: true }, undefined],
  ])("%s", (_, evidence, expected) => {
    expect(suppressionOf(evidence)).toBe(expected);
  });
});

describe("the history of answers", () => {
  it("takes a run that ends for the requests' own trouble", () => {
    expect(afterAcceptance({ accepted: 10, refused: 1, run: 3 })).toEqual({ accepted: 11, refused: 4, run: 0 });
  });

  it("forgets what is long past", () => {
    let history = noAnswers;
    for (let n = 0; n < 100_000; n++) history = afterAcceptance({ ...history, run: n % 2 });
    expect(history.accepted + history.refused).toBeLessThanOrEqual(1_001);
    // Half of the requests had trouble of their own, so only a long run says anything.
    const evidence = { ...proven, isPaused: true, history };
    expect(suppressionOf({ ...evidence, history: { ...history, run: 8 } })).toBe("paused");
    expect(suppressionOf({ ...evidence, history: { ...history, run: 40 } })).toBeUndefined();
  });
});
