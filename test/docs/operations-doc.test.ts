import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { normalise, operationsPage, readPage, type Step, stepsOf } from "../../scripts/operations/page.ts";
import { rehearse } from "../../scripts/operations/rehearse.ts";
import { createMetrics } from "../../src/adapters/stats/metrics.ts";
import { secrets } from "../../testkit/demo-run.ts";
import { isInstalled } from "../../testkit/run-program.ts";

// docs/operations.md is true: whoever follows it step by step sees what it says. Its outputs are written by
// `npm run operations`, which follows it in the same way.

const text = readFileSync(operationsPage, "utf8");
const parts = readPage(text);

/** Alarms link to these as their runbooks. */
const headings = [
  ...["rotate-a-secret", "rotate-the-token-key", "roll-out", "redis-is-down", "tokens-are-refused"],
  ...["401s-rise", "outcome-unknown", "hmac-to-oauth", "configuration-refused", "overloaded", "requests-fail"],
  ...["metrics-are-absent", "requests-are-refused", "too-many-tokens", "the-authorization-server-throttles"],
  ...["the-clock-is-wrong"],
];

const canFollow = isInstalled("curl", "--version");
it.runIf(canFollow)(
  `${canFollow ? "" : "NOT TRIED, curl is not installed: "}every step prints, on a running demo, what the page says`,
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

/** What each step prints. */
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

/** The page lets Redis be killed, and never has it take longer than a command's 100 ms. */
function tellsOfStandstill(output: string): boolean {
  return output.includes('"event":"redis_down"') && output.includes('"failure":"timeout"');
}

it("keeps the headings that alarms link to, and its own links lead to some", () => {
  const anchors = [...text.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(" ", "-"),
  );
  expect(headings.filter((heading) => !anchors.includes(heading))).toEqual([]);
  const linked = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor);
  expect(linked.filter((anchor) => anchor === undefined || !anchors.includes(anchor))).toEqual([]);
  expect(headings.filter((heading) => !linked.includes(heading))).toEqual([]);
});

it("practises every topic", () => {
  const practised = new Set(stepsOf(parts).map(({ topic }) => topic.toLowerCase().replaceAll(" ", "-")));
  expect(headings.filter((heading) => !practised.has(heading))).toEqual([]);
});

it("names metrics that there are", () => {
  const names = createMetrics()
    .registry.getMetricsAsArray()
    .map(({ name }) => name);
  const named = [...text.matchAll(/\bcountersign_[a-z_]+[a-z]\b/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});
