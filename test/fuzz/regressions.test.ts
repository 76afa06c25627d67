/**
 * Proves rows 1 to 19 where chance looks for what nobody thought of: every case that a fuzz run has found or that is worth
 * keeping is replayed against a real proxy process, and a few hundred fresh ones are tried. `npm run fuzz` goes on for a minute, or for
 * COUNTERSIGN_FUZZ_SECONDS, and keeps what breaks a promise: fast-check makes it smaller, and it is replayed from then on.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fuzz } from "../../scripts/fuzz/fuzz.ts";
import { findingsFolder, keptFolder, readCases } from "../../scripts/fuzz/input.ts";
import { openStage, type Stage } from "../../scripts/fuzz/stage.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";

const cases = [keptFolder, findingsFolder].flatMap(readCases);
const seconds = Number(process.env["COUNTERSIGN_FUZZ_SECONDS"] ?? 0);
/** Without a time about 1,500 requests. On a quiet machine they take five seconds; the time is for making a finding smaller. */
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

  it("requests by chance", { timeout: mostMs + 120_000 }, async () => {
    const folder = seconds > 0 ? findingsFolder : emptyFolder();
    const seed = drawSeed("requests by chance");
    const { finding, inputs, statuses } = await fuzz(stage, { seed, folder, rounds, mostMs });
    process.stdout.write(`${inputs} connections, answers: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
    expect(finding).toBeUndefined();
    // It is worth something only when much is served and much is refused.
    expect(statuses.get(200)).toBeGreaterThan(50);
    expect(statuses.get(400)).toBeGreaterThan(50);
  });
});
