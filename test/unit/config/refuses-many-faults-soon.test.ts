/** A reload reads the file in the process that serves: however many faults it has, no request may wait for seconds. */
import { describe, expect, it } from "vitest";
import { Diagnostics } from "../../../src/config/diagnostics.ts";
import { readDocument } from "../../../src/config/files/yaml.ts";
import { checkForm } from "../../../src/config/form/check-form.ts";
import { configSchema } from "../../../src/config/form/schema.ts";
import { cpuMsOf } from "../../../testkit/cpu-time.ts";

const few = 200;
const many = 16 * few;
const mostMsEach = 2;

const sites = (count: number, site: string) =>
  Array.from({ length: count }, (_, index) => `      S${1_000_000_000 + index}: ${site}\n`).join("");

/** Sixteen times as many faults take sixteen times as long; 256 times as long, if each were compared with all others. */
describe.each([
  ["misspelt keys", "{ keyz: [] }"],
  ["keys at a wrong place", "{ token: { scope: a } }"],
  ["placeholders", '{ version: "$(VERSION)" }'],
  ["aliases that lead nowhere", "*nowhere"],
  ["sites that are written twice", "{}"],
])("a file of many %s", (what, site) => {
  const textOf = (count: number) => {
    const all = sites(count, site);
    return `environments:\n  sandbox:\n    sites:\n${what.endsWith("twice") ? all + all : all}`;
  };

  it("is refused with all its faults, in a time proportional to their number", { timeout: 60_000 }, () => {
    const [short, long] = [textOf(few), textOf(many)];
    expect(refuse(long)).toBeGreaterThanOrEqual(many);
    const shortMs = leastMs(() => refuse(short));
    expect(shortMs / few).toBeLessThan(mostMsEach);
    expect(leastMs(() => refuse(long)) / shortMs).toBeLessThan(96);
  });
});

/** The number of problems that are reported. */
function refuse(text: string): number {
  const { value, yamlProblems, locate } = readDocument(text);
  const diagnostics = new Diagnostics(locate);
  if (yamlProblems.length === 0) checkForm(value, configSchema, diagnostics);
  return yamlProblems.length + diagnostics.problems.length;
}

/** The least of several times: other work on the machine only adds to a time. */
function leastMs(task: () => void): number {
  return Math.min(cpuMsOf(task), cpuMsOf(task), cpuMsOf(task));
}
