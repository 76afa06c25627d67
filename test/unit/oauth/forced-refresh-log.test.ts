/** Replicas read each other's facts at any time and in any order; what they conclude must not depend on it. */
import { describe, expect, it } from "vitest";
import { ForcedRefreshLog, forcedRefreshesOf } from "../../../src/oauth/forced-refresh-log.ts";
import { type RefreshFact, refreshFactKinds } from "../../../src/oauth/shared-limits.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

const name = { token: "t1", site: "S1" };
const fact = (kind: RefreshFact["kind"], ageMs = 10): RefreshFact => ({ ...name, kind, ageMs });
const statusOf = (...kinds: RefreshFact["kind"][]) => forcedRefreshesOf(kinds.map((kind) => fact(kind)))[0]?.status;

describe("the status of a forced refresh", () => {
  it.each([
    [["forced"], "pending"],
    [["doubtful"], "pending"],
    [["forced", "accepted"], "accepted"],
    [["forced", "failed"], "failed"],
    [["failed"], "failed"],
    [["forced", "accepted", "failed"], "failed"],
    [["recovered"], "recovered"],
    [["forced", "failed", "recovered"], "recovered"],
    [["accepted"], undefined],
  ] as const)("%o is %s", (kinds, status) => {
    expect(statusOf(...kinds)).toBe(status);
    expect(statusOf(...kinds.toReversed())).toBe(status);
  });

  it("says that the site accepted the token after an acceptance or a recovery, and never else", () => {
    const accepted = refreshFactKinds.filter((kind) => {
      return forcedRefreshesOf([fact("forced"), fact(kind)])[0]?.isAccepted === true;
    });
    expect(accepted).toEqual(["accepted", "recovered"]);
  });
});

describe("a log of facts", () => {
  it("is the same whatever the order in which others' facts are merged, and how often", () => {
    const clock = new FakeClock();
    const facts = [fact("forced", 30), fact("accepted", 20), fact("failed", 10), { ...fact("forced"), token: "t2" }];
    const one = new ForcedRefreshLog(clock);
    const other = new ForcedRefreshLog(clock);
    one.merge(facts);
    for (const each of facts.toReversed()) other.merge([each]);
    other.merge(facts);
    expect(other.refreshes()).toEqual(one.refreshes());
    expect(one.refreshes()).toMatchObject([{ token: "t1", status: "failed", isAccepted: true }, { token: "t2" }]);
  });

  it("forgets a fact after a minute, and knows one that others tell of for what is left of its minute", async () => {
    const clock = new FakeClock();
    const log = new ForcedRefreshLog(clock);
    log.add({ kind: "forced", ...name });
    log.merge([{ ...fact("forced", 50_000), token: "t2" }]);
    expect(log.refreshes()).toHaveLength(2);
    await clock.advance(10_000);
    expect(log.refreshes().map(({ token }) => token)).toEqual(["t1"]);
    await clock.advance(50_000);
    expect(log.refreshes()).toEqual([]);
    expect(log.has(name, "forced")).toBe(false);
  });

  it("knows a doubt and an acceptance as long as the outcome", async () => {
    const clock = new FakeClock();
    const log = new ForcedRefreshLog(clock);
    log.add({ kind: "doubtful", ...name });
    log.add({ kind: "accepted", ...name });
    await clock.advance(40_000);
    log.add({ kind: "failed", ...name });
    await clock.advance(40_000);
    expect(log.refreshes()).toMatchObject([{ status: "failed", isAccepted: true, isDoubtful: true }]);
  });

  it("takes the first failure for news, and no other, until it is forgotten", async () => {
    const clock = new FakeClock();
    const log = new ForcedRefreshLog(clock);
    expect(log.add({ kind: "failed", ...name })).toBe(true);
    expect(log.add({ kind: "failed", ...name })).toBe(false);
    await clock.advance(60_000);
    expect(log.add({ kind: "failed", ...name })).toBe(true);
    log.add({ kind: "recovered", ...name });
    expect(log.add({ kind: "failed", ...name })).toBe(false);
  });

  it("keeps the newest 160 facts", () => {
    const log = new ForcedRefreshLog(new FakeClock());
    log.merge(Array.from({ length: 500 }, (_, n) => ({ ...fact("failed", n), token: `t${n}` })));
    expect(log.facts()).toHaveLength(160);
    expect(Math.max(...log.facts().map(({ ageMs }) => ageMs))).toBe(159);
  });
});
