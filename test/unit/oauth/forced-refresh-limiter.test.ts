/** Row 39: when a 401 may use a new token, as tables. */
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { ForcedRefreshLimiter, windowMs } from "../../../src/oauth/forced-refresh-limiter.ts";
import { everySite, type ForcedRefreshes } from "../../../src/oauth/token-store.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

const token = (n: number) => ({
  secret: new Secret(`t${n}`),
  id: `t${n}`,
  credential: "S1/blue",
  issuedAtMs: n,
  lifetimeMs: 3_600_000,
});

/** The known facts when a 401 for token 2 of site S1 comes. */
interface Evidence {
  /** The newest token that the site has accepted. */
  readonly accepted?: number;
  /** 401s in a row for that token since then. */
  readonly run?: number;
  readonly site?: ForcedRefreshes;
  readonly anySite?: ForcedRefreshes;
}

function stage({ accepted, run = 0, site, anySite }: Evidence = {}) {
  const clock = new FakeClock();
  const limiter = new ForcedRefreshLimiter(clock);
  if (site !== undefined) limiter.mergeShared(new Map([["S1", site]]));
  if (anySite !== undefined) limiter.mergeShared(new Map([[everySite, anySite]]));
  if (accepted !== undefined) limiter.accepted("S1", token(accepted));
  for (let n = 0; n < run; n++) limiter.refused("S1", token(accepted ?? 2));
  return { clock, limiter };
}

/** The site has accepted the token since the refresh, and other requests of the site get 401s for their own reasons. */
const proven: Evidence = { accepted: 2, run: 1, site: { useless: 10, ageMs: 10_000 } };

it.each([
  [0, 0],
  [3, 0],
  [4, 10_000],
  [5, 20_000],
  [6, 40_000],
  [10, 640_000],
  [11, 900_000],
  [9_999, 900_000],
])("after %i useless refreshes in a row a site waits %i ms", (useless, ms) => {
  expect(windowMs(useless)).toBe(ms);
});

it.each<[string, Evidence, ReturnType<ForcedRefreshLimiter["suppression"]>]>([
  ["the first 401 of all", {}, undefined],
  ["after three doubtful refreshes", { site: { useless: 3, ageMs: 0 } }, undefined],
  ["within the window", { site: { useless: 4, ageMs: 9_999 } }, "paused"],
  ["after the window", { site: { useless: 4, ageMs: 10_000 } }, undefined],
  ["after a retry that was accepted", { site: { useless: 0, ageMs: 0 } }, undefined],
  ["soon after a useless refresh of another site", { anySite: { useless: 1, ageMs: 19_999 } }, "limited"],
  ["for a site that accepted an earlier token", { accepted: 1, anySite: { useless: 3, ageMs: 0 } }, undefined],
  [
    "for such a site, after one more useless refresh elsewhere",
    { accepted: 1, anySite: { useless: 4, ageMs: 0 } },
    "limited",
  ],
  ["20 s after a useless refresh of another site", { anySite: { useless: 1, ageMs: 20_000 } }, undefined],
  ["soon after a successful refresh of another site", { anySite: { useless: 0, ageMs: 0 } }, undefined],
  [
    "for a token that the site has accepted, after useless refreshes elsewhere",
    { accepted: 2, anySite: { useless: 4, ageMs: 0 } },
    undefined,
  ],
  ["one 401 within a long window", proven, "paused"],
  ["two 401s in a row", { ...proven, run: 2 }, "paused"],
  ["three 401s in a row: revoked", { ...proven, run: 3 }, undefined],
  [
    "three 401s, less than 10 s after the last refresh",
    { ...proven, run: 3, site: { useless: 10, ageMs: 9_999 } },
    "paused",
  ],
  ["three 401s for a token that was never accepted", { ...proven, accepted: 1, run: 3 }, "paused"],
])("whether a 401 may use a new token: %s", (_, evidence, suppression) => {
  expect(stage(evidence).limiter.suppression("S1", token(2))).toBe(suppression);
});

it.each<[string, Evidence, inVain: number, cured: number]>([
  ["a revoked token", { accepted: 2, run: 3 }, 4, 0],
  ["one 401, which may have been chance", { accepted: 2, run: 1 }, 4, 1],
  ["the fourth such refresh", { accepted: 2, run: 2, site: { useless: 3, ageMs: 0 } }, 4, 4],
  ["after a window", { accepted: 2, run: 3, site: { useless: 7, ageMs: 80_000 } }, 8, 0],
  ["within a window", { accepted: 2, run: 3, site: { useless: 7, ageMs: 79_999 } }, 8, 7],
])("useless refreshes in a row: %s", (_, evidence, inVain, cured) => {
  const { limiter } = stage(evidence);
  expect(limiter.forced("S1", token(3), token(2)).get("S1")).toBe(inVain);
  expect(limiter.cured("S1", token(3))?.get("S1")).toBe(cured);
});

describe("one site", () => {
  it("counts the 401s for the former token that come after the refresh", () => {
    const { limiter } = stage();
    limiter.accepted("S1", token(1));
    limiter.refused("S1", token(1));
    limiter.forced("S1", token(2), token(1));
    limiter.refused("S1", token(1));
    limiter.refused("S1", token(1));
    expect(limiter.cured("S1", token(2))).toEqual(
      new Map([
        ["S1", 0],
        [everySite, 0],
      ]),
    );
  });

  it("says once that a token has cured a 401", () => {
    const { limiter } = stage();
    limiter.forced("S1", token(2), token(1));
    expect(limiter.cured("S1", token(2))).toBeDefined();
    expect(limiter.cured("S1", token(2))).toBeUndefined();
    expect(limiter.cured("S1", token(3))).toBeUndefined();
  });

  it("needs twice as many 401s in a row each time they ended a pause early, and fewer again after a quiet half hour", async () => {
    const { clock, limiter } = stage();
    const refusedInARow = (n: number) => {
      let run = 1;
      for (limiter.refused("S1", token(n)); limiter.suppression("S1", token(n)) !== undefined; run++) {
        limiter.refused("S1", token(n));
      }
      return run;
    };
    limiter.forced("S1", token(1), token(0));
    const runs: number[] = [];
    for (let n = 1; n < 5; n++) {
      limiter.accepted("S1", token(n));
      await clock.advance(10_000);
      runs.push(refusedInARow(n));
      limiter.forced("S1", token(n + 1), token(n));
    }
    expect(runs).toEqual([1, 3, 6, 12]);
    await clock.advance(1_800_000);
    limiter.accepted("S1", token(5));
    limiter.refused("S1", token(5));
    limiter.forced("S1", token(6), token(5));
    await clock.advance(5_000);
    limiter.forced("S1", token(7), token(6));
    await clock.advance(10_000);
    limiter.accepted("S1", token(7));
    expect(refusedInARow(7)).toBe(6);
  });

  it("uses the later of its own count and another replica's", async () => {
    const { clock, limiter } = stage();
    limiter.forced("S1", token(2), token(1));
    await clock.advance(5_000);
    limiter.mergeShared(new Map([["S1", { useless: 0, ageMs: 6_000 }]]));
    expect(limiter.suppression("S1", token(2))).toBe("paused");
    limiter.mergeShared(new Map([["S1", { useless: 0, ageMs: 1_000 }]]));
    limiter.mergeShared(new Map([[everySite, { useless: 0, ageMs: 1_000 }]]));
    expect(limiter.suppression("S1", token(2))).toBeUndefined();
  });

  it("keeps another replica's count only until a retry here was accepted, even if Redis is away", () => {
    const { limiter } = stage();
    // This count was read before the other replica's own retry was answered.
    limiter.mergeShared(new Map([["S1", { useless: 4, ageMs: 0 }]]));
    expect(limiter.suppression("S1", token(2))).toBe("paused");
    expect(limiter.cured("S1", token(2))).toBeUndefined();
    limiter.refused("S1", token(2));
    expect(limiter.suppression("S1", token(2))).toBeUndefined();
  });

  it("uses the count that was read last, though an earlier slow read seemed younger", async () => {
    const { clock, limiter } = stage();
    limiter.mergeShared(new Map([["S1", { useless: 4, ageMs: 0 }]]));
    expect(limiter.suppression("S1", token(2))).toBe("paused");
    await clock.advance(10);
    limiter.mergeShared(new Map([["S1", { useless: 1, ageMs: 20 }]]));
    expect(limiter.suppression("S1", token(2))).toBeUndefined();
  });
});
