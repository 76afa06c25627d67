import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { normalise, practisePage, readPage, type Step, stepsOf } from "../../scripts/practise/page.ts";
import { rehearse } from "../../scripts/practise/rehearse.ts";
import { slugOf } from "../../scripts/site/documents.ts";
import { createMetrics } from "../../src/adapters/stats/metrics.ts";
import { secrets } from "../../testkit/demo-run.ts";
import { isInstalled, nameFor } from "../../testkit/run-program.ts";

// simulator/practise.md is true: a reader who types it step by step sees the outputs on the page. `npm run practise` writes these
// outputs, and types the steps in the same way.

const text = readFileSync(practisePage, "utf8");
const parts = readPage(text);

/** The pages whose jobs and alerts are practised; each links to its heading in simulator/practise.md. */
const practised = ["docs/operations.md", ...readdirSync("docs/alerts").map((name) => `docs/alerts/${name}`)].map(
  (page) => readFileSync(page, "utf8"),
);

const canFollow = isInstalled("curl", "--version");
it.runIf(canFollow)(
  nameFor(canFollow, "curl", "every step prints, on a running demo, what the page says"),
  async () => {
    const steps = stepsOf(parts);
    const said = steps.map((step) => show(step, step.output));
    let seen = await follow(steps);
    for (let round = 2; round <= 3 && seen.some(tellsOfStandstill); round++) {
      process.stdout.write(`Redis stood still on this busy machine; round ${round}\n`);
      seen = await follow(steps);
    }
    expect(seen).toEqual(said);
    expect(seen.length).toBeGreaterThan(100);
  },
  300_000,
);

/** The output of each step. */
async function follow(steps: readonly Step[]): Promise<readonly string[]> {
  const seen: string[] = [];
  await rehearse(steps, (step, output) => {
    seen.push(show(step, output));
    for (const secret of secrets) expect(output).not.toMatch(secret);
  });
  return seen;
}

function show({ topic, command }: Step, output: string): string {
  return `${topic}: $ ${command}\n${normalise(output)}`;
}

/** The page kills Redis, but in no step Redis needs longer than a command's 100 ms. */
function tellsOfStandstill(output: string): boolean {
  return output.includes('"event":"redis_down"') && output.includes('"failure":"timeout"');
}

it("the page practises the jobs and alerts that link to it, and nothing else", () => {
  const topics = new Set(stepsOf(parts).map(({ topic }) => slugOf(topic)));
  const linked = practised.flatMap((page) =>
    [...page.matchAll(/practise\.md#([\w-]+)\)/g)].map(([, anchor]) => anchor),
  );
  expect([...linked, "practise"].sort()).toEqual([...topics].sort());
  expect(linked).toHaveLength(16);
});

it("the page and the pages that it practises name only metrics that exist", () => {
  const names = createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name);
  const named = [text, ...practised].flatMap((page) => page.match(/\bcountersign_[a-z_]+[a-z]\b/g) ?? []);
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});

/** Permitted differences between two runs of the same step. */
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
      "the rest of a pause",
      "no request for another 9 s; Next try in 10 s",
      "no request for another 8 s; Next try in 9 s",
    ],
    ["the remaining lifetime of a token", "valid for another 23 h", "valid for another 24 h"],
  ])("may differ in %s", (_, one, other) => {
    expect(normalise(one)).toBe(normalise(other));
  });

  it.each([
    ["a status", "200 answered", "502 unknown"],
    ["a count", '"tokensIssued":9', '"tokensIssued":10'],
    ["a metric's value", 'countersign_redis_up{node="cache"} 1', 'countersign_redis_up{node="cache"} 0'],
    ["a number of rounds", '"attempts":1', '"attempts":2'],
    ["a setting in ms", "(limit 100 ms each)", "(limit 200 ms each)"],
    ["an invalid time", '"time":"2026-11-21T13:50:05.588Z"', '"time":"yesterday"'],
  ])("never differ in %s", (_, one, other) => {
    expect(normalise(one)).not.toBe(normalise(other));
  });
});
