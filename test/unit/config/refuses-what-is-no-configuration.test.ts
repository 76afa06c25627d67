import { truncateSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatProblems } from "../../../src/config/diagnostics.ts";
import { readAtOnce } from "../../../src/config/files/file-system.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";

test("a fault is printed with what was found and how to fix it", async () => {
  const folder = new ConfigFolder();
  const yaml = edited([
    "    sites:\n",
    "    sites:\n      S9: { version: 3.0, keys: [ { identifier: K1, secret: { file: DIR/k2 } } ] }\n",
  ]);
  const printed = formatProblems("countersign.yaml", await folder.problemsOf(yaml));
  expect(printed.split("\n")).toEqual([
    "countersign.yaml:12:13  environments.sandbox.sites.S9.version: YAML read this version as a number",
    "    found  3.0",
    '    fix    write it in quotes, like "3.0"',
  ]);
});

describe("a file that is no configuration at all", () => {
  test.each([
    ["nothing", "", "this must be a mapping"],
    ["a list", "- a\n", "this must be a mapping"],
    ["a text", "canary\n", "this must be a mapping"],
  ])("%s", async (_, yaml, message) => {
    const [problem, ...others] = await new ConfigFolder().problemsOf(yaml);
    expect(problem).toMatchObject({ path: "", line: 1, column: 1, message });
    expect(problem?.found ?? "").not.toContain("canary");
    expect(others).toEqual([]);
  });

  test("an empty mapping", async () => {
    const problems = await new ConfigFolder().problemsOf("{}\n");
    expect(problems.map(({ path }) => path)).toEqual(["listeners", "admin", "status", "environments"]);
  });

  test("bytes that are not UTF-8", async () => {
    const folder = new ConfigFolder();
    const readFile = async () => ({ bytes: Buffer.from([0xff, 0xfe, 0x41]), mode: 0o600, stamp: "" });
    const [problem] = await folder.problemsOf("", { readFile });
    expect(problem?.message).toMatch(/not UTF-8/);
  });

  test("a file that does not exist", async () => {
    const folder = new ConfigFolder();
    const [problem] = await folder.problemsOfFile(`${folder.path}/nothing.yaml`);
    expect(problem).toMatchObject({ path: "", message: expect.stringContaining("ENOENT") });
  });

  test.each([
    { when: "at the start", around: { readFile: readAtOnce } },
    { when: "at a reload", around: {} },
  ])("a file that would fill the memory, $when", async ({ around }) => {
    const folder = new ConfigFolder();
    const endless = folder.write("endless", "");
    truncateSync(endless, 16 * 1_048_576 + 1);
    const message = "the configuration file is longer than 16 MiB";
    expect(await loadConfig(endless, around)).toMatchObject({ problems: [{ path: "", message }] });
    const named = folder.write("countersign.yaml", sound.replaceAll("DIR/k1", endless).replaceAll("DIR", folder.path));
    const problems = [{ message: "the file cannot be read (EFBIG)", fix: "name a file of at most 16 MiB" }];
    expect(await loadConfig(named, around)).toMatchObject({ problems });
  });
});
