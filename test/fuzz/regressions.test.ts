/**
 * Proves rows 1 to 19 where chance looks for what nobody thought of: every case that a fuzz run has found or that is worth
 * keeping is replayed against a real proxy process, and a few hundred fresh ones are tried. More: npm run fuzz.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fuzz } from "../../scripts/fuzz/fuzz.ts";
import { findingsFolder, keptFolder, readCases } from "../../scripts/fuzz/input.ts";
import { openStage, type Stage } from "../../scripts/fuzz/stage.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";

const cases = [keptFolder, findingsFolder].flatMap(readCases);
/** About 1,500 requests. On a quiet machine they take five seconds; the time is for making a finding smaller. */
const rounds = 120;
const mostMs = 60_000;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe("no promise is broken by", () => {
  it.each(cases)("%s", async (_, { why, inputs }) => {
    const { played, broken } = await stage.play(inputs);
    expect({ why, broken }).toEqual({ why, broken: [] });
    expect(played.length).toBe(inputs.length);
  });

  it(`${rounds} rounds of requests by chance`, { timeout: 2 * mostMs }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "countersign-fuzz-test-"));
    try {
      const seed = drawSeed("requests by chance");
      const { finding, statuses } = await fuzz(stage, { seed, folder, rounds, mostMs });
      expect(finding).toBeUndefined();
      // It is worth something only when much is served and much is refused.
      expect(statuses.get(200)).toBeGreaterThan(50);
      expect(statuses.get(400)).toBeGreaterThan(50);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
