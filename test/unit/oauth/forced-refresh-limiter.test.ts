/** When a 401 may use a new token, as tables. */
import { describe, expect, it } from "vitest";
import { ForcedRefreshLimiter } from "../../../src/oauth/forced-refresh-limiter.ts";
import { everySite, type ForcedRefreshes } from "../../../src/oauth/token-store.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { issued } from "../../../testkit/issued-token.ts";

const minuteMs = 60_000;
const tokens = new Map<number, ReturnType<typeof makeToken>>();

/** The same object for each number, as in a process. */
const token = (n: number) => tokens.get(n) ?? tokens.set(n, makeToken(n)).get(n) ?? expect.unreachable();

/** The budget is spent, and the last refresh was a minute ago. */
const spent = { spentMs: 42 * minuteMs, ageMs: minuteMs };

it.each<[string, Evidence, ReturnType<ForcedRefreshLimiter["suppression"]>]>([
  ["the first 401 of all", {}, undefined],
  ["the first one for a token that the site has accepted", { accepted: 2, run: 1 }, undefined],
  ["after a cure, at once", { accepted: 2, run: 1, site: { spentMs: 30 * minuteMs } }, undefined],
  ["within the window of a useless refresh", { site: { useless: 1, ageMs: 9_999 } }, "paused"],
  ["after that window", { site: { useless: 1, ageMs: 10_000 } }, undefined],
  ["after two useless ones, within 20 s", { site: { useless: 2, ageMs: 19_999 } }, "paused"],
  ["after 7 useless ones, within 640 s", { site: { useless: 7, ageMs: 639_999 } }, "paused"],
  ["after 8 useless ones, within 15 min", { site: { useless: 8, ageMs: 899_999 } }, "paused"],
  ["after 8 useless ones, 15 min later", { site: { useless: 8, ageMs: 900_000 } }, undefined],
  ["after 9,999 useless ones, 15 min later", { site: { useless: 9_999, ageMs: 900_000 } }, undefined],
  [
    "three in a row, 10 s after a useless refresh",
    { accepted: 2, run: 6, site: { useless: 2, ageMs: 10_000 } },
    "paused",
  ],
  ["twelve in a row", { accepted: 2, run: 12, site: { useless: 2, ageMs: 10_000 } }, undefined],
  ["twelve in a row, sooner", { accepted: 2, run: 12, site: { useless: 2, ageMs: 9_999 } }, "paused"],
  [
    "twelve in a row for a token that was never accepted",
    { accepted: 1, run: 12, site: { useless: 2, ageMs: 10_000 } },
    "paused",
  ],
  ["without budget", { site: spent }, "limited"],
  ["when enough of it has come back", { site: { ...spent, spentMs: 41 * minuteMs } }, undefined],
  ["without budget, one 401", { accepted: 2, run: 1, site: spent }, "limited"],
  [
    "without budget, four in a row: one more than the refreshes beyond it",
    { accepted: 2, run: 4, site: spent },
    undefined,
  ],
  ["without budget, three in a row", { accepted: 2, run: 3, site: spent }, "limited"],
  ["without budget, five beyond it", { accepted: 2, run: 7, site: { ...spent, spentMs: 92 * minuteMs } }, "limited"],
  ["without budget, ten seconds without an acceptance", { accepted: 2, run: 1, runMs: 10_000, site: spent }, undefined],
  [
    "within a window, ten seconds without one",
    { accepted: 2, run: 1, runMs: 10_000, site: { useless: 2, ageMs: 15_000 } },
    "paused",
  ],
  ["soon after another site's useless refresh", { anySite: { useless: 1, ageMs: 9_999 } }, "limited"],
  ["after that", { anySite: { useless: 1, ageMs: 10_000 } }, undefined],
  ["a minute after many of them", { anySite: { useless: 99, ageMs: minuteMs } }, undefined],
  ["soon after another site's cure", { anySite: { useless: 0, ageMs: 0 } }, undefined],
  [
    "another site's, for a token that this site has accepted",
    { accepted: 2, anySite: { useless: 9, ageMs: 0 } },
    undefined,
  ],
])("whether a 401 may use a new token: %s", async (_, evidence, suppression) => {
  const { limiter } = await stage(evidence);
  expect(limiter.suppression("S1", token(2))).toBe(suppression);
});

describe("what a forced refresh counts", () => {
  const counted = (counts: ReturnType<ForcedRefreshLimiter["forced"]> | undefined) => counts?.get("S1");

  it("is useless until a retry with its token is accepted; then half of what was spent comes back", async () => {
    const { limiter } = await stage();
    expect(counted(limiter.forced("S1", token(2), token(1)))).toEqual({ useless: 1, spentMs: 20 * minuteMs });
    limiter.accepted("S1", token(2), 1_000);
    expect(limiter.cured("S1", token(1), 1_000)).toBeUndefined();
    expect(counted(limiter.cured("S1", token(2), 1_000))).toEqual({ useless: 0, spentMs: 10 * minuteMs });
    expect(limiter.cured("S1", token(2), 1_000)).toBeUndefined();
  });

  it("stays useless if a retry is refused first, though another is accepted", async () => {
    const { limiter } = await stage();
    limiter.forced("S1", token(2), token(1));
    limiter.refused("S1", token(2));
    expect(limiter.cured("S1", token(2), 1_000)).toBeUndefined();
    expect(limiter.suppression("S1", token(2))).toBe("paused");
  });

  it("stays useless if the authorization server gave the same token again", async () => {
    const { limiter } = await stage();
    limiter.forced("S1", token(1), token(1));
    expect(limiter.cured("S1", token(1), 1_000)).toBeUndefined();
  });

  it("comes back evenly within an hour, and is forgotten then", async () => {
    const { clock, limiter } = await stage();
    limiter.forced("S1", token(2), token(1));
    await clock.advance(10 * minuteMs);
    expect(limiter.counts.of("S1")).toMatchObject({ useless: 1, spentMs: 10 * minuteMs });
    await clock.advance(50 * minuteMs);
    expect(limiter.counts.of("S1")).toMatchObject({ useless: 0, spentMs: 0 });
  });

  it("is read from another replica unless this one has counted since, and comes back there too", async () => {
    const { clock, limiter } = await stage();
    limiter.forced("S1", token(2), token(1));
    await clock.advance(5_000);
    const read = (count: ForcedRefreshes) => limiter.counts.mergeShared(new Map([["S1", count]]));
    read({ useless: 0, spentMs: 0, ageMs: 6_000 });
    expect(limiter.suppression("S1", token(2))).toBe("paused");
    read({ useless: 0, spentMs: 30 * minuteMs, ageMs: 1_000 });
    limiter.counts.mergeShared(new Map([[everySite, { useless: 0, spentMs: 0, ageMs: 1_000 }]]));
    expect(limiter.suppression("S1", token(2))).toBeUndefined();
    await clock.advance(4_000);
    expect(limiter.counts.of("S1")).toEqual({ useless: 0, spentMs: 30 * minuteMs - 5_000, ageMs: 5_000 });
  });

  it("is another replica's only until this one's retry was accepted, even if Redis is away", async () => {
    // This count was read before the other replica's own retry was answered.
    const { limiter } = await stage({ site: { useless: 4 } });
    expect(limiter.suppression("S1", token(2))).toBe("paused");
    expect(limiter.cured("S1", token(2), 1_000)).toBeUndefined();
    limiter.refused("S1", token(2));
    expect(limiter.suppression("S1", token(2))).toBeUndefined();
  });
});

it("an acceptance ends a run of 401s, unless it was sent before the run began", async () => {
  const { clock, limiter } = await stage({ accepted: 2, run: 2, site: spent });
  expect(limiter.isUndecided("S1", token(2))).toBe(true);
  limiter.accepted("S1", token(2), clock.nowMs() - 1);
  expect(limiter.isUndecided("S1", token(2))).toBe(true);
  limiter.accepted("S1", token(2), clock.nowMs());
  expect(limiter.isUndecided("S1", token(2))).toBe(false);
  expect(limiter.suppression("S1", token(2))).toBe("limited");
});

it("four tokens in a row that no site has accepted delay a site that has accepted an earlier one, until one is accepted", async () => {
  const { limiter } = await stage({ accepted: 1 });
  for (const n of [2, 3, 4]) limiter.forced("S2", token(n), token(n - 1));
  expect(limiter.suppression("S1", token(4))).toBeUndefined();
  limiter.forced("S2", token(5), token(4));
  expect(limiter.suppression("S1", token(5))).toBe("limited");
  limiter.accepted("S3", token(5), 1_000);
  expect(limiter.suppression("S1", token(5))).toBeUndefined();
});

it("only a token that was issued after the refused one was accepted last may cure", async () => {
  const { limiter } = await stage();
  const newer = { ...token(5), issuedAtMs: 100, issuedWithinMs: 20 };
  expect(limiter.answers.mayCure(newer, token(2))).toBe(true);
  limiter.accepted("S2", token(2), 120);
  limiter.accepted("S1", token(2), 90);
  expect(limiter.answers.mayCure(newer, token(2))).toBe(true);
  limiter.accepted("S1", token(2), 121);
  expect(limiter.answers.mayCure(newer, token(2))).toBe(false);
});

function makeToken(n: number) {
  return {
    ...issued(`t${n}`, 3_600_000),
    id: `t${n}`,
    credential: "S1/blue",
    issuedAtMs: n,
  };
}

/** The known facts when a 401 for token 2 of site S1 comes. */
interface Evidence {
  /** The newest token that the site has accepted. */
  readonly accepted?: number;
  /** 401s in a row for that token since then, and how long ago the first one came. */
  readonly run?: number;
  readonly runMs?: number;
  readonly site?: Partial<ForcedRefreshes>;
  readonly anySite?: Partial<ForcedRefreshes>;
}

async function stage({ accepted, run = 0, runMs = 0, site, anySite }: Evidence = {}) {
  const clock = new FakeClock();
  const limiter = new ForcedRefreshLimiter(clock);
  if (accepted !== undefined) limiter.accepted("S1", token(accepted), clock.nowMs());
  for (let n = 0; n < run; n++) limiter.refused("S1", token(accepted ?? 2));
  await clock.advance(runMs);
  const nothing = { useless: 0, spentMs: 0, ageMs: 0 };
  if (site !== undefined) limiter.counts.mergeShared(new Map([["S1", { ...nothing, ...site }]]));
  if (anySite !== undefined) limiter.counts.mergeShared(new Map([[everySite, { ...nothing, ...anySite }]]));
  return { clock, limiter };
}
