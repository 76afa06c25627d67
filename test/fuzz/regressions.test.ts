/**
 * Random requests find cases that nobody thought of. Every case that a fuzz run has found or that is kept is replayed against a real proxy process, and a few hundred new ones are tried. `npm run fuzz` runs for a minute, or for
 * COUNTERSIGN_FUZZ_SECONDS, and keeps a case that breaks a promise: fast-check shrinks it, and later runs replay it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fuzz } from "../../scripts/fuzz/fuzz.ts";
import { findingsFolder, keptFolder, readCases } from "../../scripts/fuzz/input.ts";
import { openStage, type Stage } from "../../scripts/fuzz/stage.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";

const cases = [keptFolder, findingsFolder].flatMap(readCases);
const seconds = Number(process.env["COUNTERSIGN_FUZZ_SECONDS"] ?? 0);
/** By default about 1,500 requests. On a quiet machine they take five seconds; the time limit leaves room to shrink a finding. */
const [rounds, mostMs] = seconds > 0 ? [1e9, seconds * 1_000] : [120, 60_000];

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

  it("random requests", { timeout: mostMs + 120_000 }, async () => {
    const folder = seconds > 0 ? findingsFolder : emptyFolder();
    const seed = drawSeed("requests by chance");
    const { finding, inputs, statuses } = await fuzz(stage, { seed, folder, rounds, mostMs });
    process.stdout.write(`${inputs} connections, answers: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
    expect(finding).toBeUndefined();
    // The run proves something only if many requests are served and many refused.
    expect(statuses.get(200)).toBeGreaterThan(50);
    expect(statuses.get(400)).toBeGreaterThan(50);
  });
});
