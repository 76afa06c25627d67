/**
 * Proves rows 1 to 19 where chance looks for what nobody thought of: every case that a fuzz run has found or that is worth
 * keeping is replayed against a real proxy process, and a few hundred fresh ones are tried. More: npm run fuzz.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsFolder, keptFolder, readCases } from "../../scripts/fuzz/cases.ts";
import { fuzz } from "../../scripts/fuzz/fuzz.ts";
import { Stage } from "../../scripts/fuzz/stage.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";

const cases = [keptFolder, findingsFolder].flatMap(readCases);
/** The whole of it on a quiet machine takes two seconds. */
const fuzzedInputs = 500;
const mostMs = 60_000;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

describe("no promise is broken by", () => {
  it.each(cases)("%s", async (_, { why, inputs }) => {
    const { played, blamed } = await stage.play(inputs);
    const broken = blamed.map(({ oracle, seen }) => `${oracle}: ${seen}`);
    expect({ why, broken }).toEqual({ why, broken: [] });
    expect(played.length).toBe(inputs.length);
  });

  it(`${fuzzedInputs} requests by chance`, { timeout: mostMs }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "countersign-fuzz-test-"));
    try {
      const seed = drawSeed("requests by chance");
      const { findings, statuses } = await fuzz(stage, { seed, folder, isOver: (inputs) => inputs >= fuzzedInputs });
      expect(findings).toEqual([]);
      // It is worth something only when much is served and much is refused.
      expect(statuses.get(200)).toBeGreaterThan(50);
      expect(statuses.get(400)).toBeGreaterThan(50);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
