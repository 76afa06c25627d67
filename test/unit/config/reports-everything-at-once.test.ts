import { truncateSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatProblems } from "../../../src/config/diagnostics.ts";
import { readAtOnce } from "../../../src/config/file-system.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";

/** Faults of form and of meaning (rules across settings, files), all in one file. */
const faulty = `listeners:
  - { bind: "0.0.0.0:7411", environment: sandbx }
  - { bind: "nowhere", environment: sandbox }
admin: { bind: ":7412" }
status: { bind: ":7412" }
enviroments: {}
environments:
  sandbox:
    baseUrl: https://api.sandbox.example/json-api
    authUrl: https://api.sandbox.example
    operations: [create_order, "*"]
    defaultSite: S4
    forwardHeaders: [cookie]
    sites:
      S1000000001:
        version: 3.0
        credentials:
          - { name: blue, dir: DIR/nowhere }
        children:
          S1000000002: {}
      S1000000003:
        exempt: [timestamp]
        keys:
          - { identifier: K2000000001, secret: { file: DIR/empty } }
          - { identifier: K2000000002, secret: { env: NOT_SET } }
  production:
    baseUrl: http://api.example
    authUrl: https://login.example
    operations: [create_order]
    sites:
      S2000000001:
        keys: [ { identifier: K3, secret: canary-written-out } ]
timeouts: { request: 20 }
`;

/** The same file, its faults of form corrected. */
const wellFormed = [
  ['"nowhere"', '"127.0.0.1:7414"'],
  ["enviroments: {}", "acknowledge: []"],
  ["version: 3.0", 'version: "3.0"'],
  ["canary-written-out", "{ file: DIR/k1 }"],
  ["request: 20 ", "request: 20s "],
].reduce((text, [from = "", to = ""]) => text.replace(from, to), faulty);

async function placesOf(yaml: string): Promise<string[]> {
  const folder = new ConfigFolder();
  folder.write("empty", "");
  const problems = await folder.problemsOf(yaml, { env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } });
  return problems.map(({ line, path }) => `${line} ${path}`);
}

describe("a file with many faults", () => {
  test("gets all of form reported together, in the file's order, and none of meaning", async () => {
    expect(await placesOf(faulty)).toEqual([
      "3 listeners[1].bind",
      "6 enviroments",
      "16 environments.sandbox.sites.S1000000001.version",
      "32 environments.production.sites.S2000000001.keys[0].secret",
      "33 timeouts.request",
    ]);
  });

  test("gets all of meaning reported together, in the file's order, once its form is right", async () => {
    expect(await placesOf(wellFormed)).toEqual([
      "1 ",
      "2 listeners[0].bind",
      "2 listeners[0].environment",
      "5 status.bind",
      "5 status.bind",
      "10 environments.sandbox.authUrl",
      "11 environments.sandbox.operations[1]",
      "12 environments.sandbox.defaultSite",
      "13 environments.sandbox.forwardHeaders[0]",
      "18 environments.sandbox.sites.S1000000001.credentials[0].dir",
      "18 environments.sandbox.sites.S1000000001.credentials[0].dir",
      "18 environments.sandbox.sites.S1000000001.credentials[0].dir",
      "22 environments.sandbox.sites.S1000000003.exempt[0]",
      "23 environments.sandbox.sites.S1000000003.keys",
      "24 environments.sandbox.sites.S1000000003.keys[0].secret",
      "25 environments.sandbox.sites.S1000000003.keys[1].secret",
      "27 environments.production.baseUrl",
    ]);
  });

  test("is printed with what was found and how to fix it", async () => {
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
});

describe("what merely follows is not reported", () => {
  test("a listener whose callers are faulty", async () => {
    const yaml = edited(['"127.0.0.1:7411", environment: sandbox', '":7411", environment: sandbox, callers: everyone']);
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems.map(({ path, fix }) => [path, fix])).toEqual([
      [
        "listeners[0].callers",
        "write anyone, or each caller's name and what proves it: { NAME: { token: { file: /path } } }",
      ],
    ]);
  });

  test("keys of which one has a faulty default, while the other's secret is missing", async () => {
    const pathsWith = async (isDefault: string) => {
      const keys = `          - { identifier: K1, default: ${isDefault}, secret: { file: DIR/k1 } }
          - { identifier: K2, secret: { file: DIR/nothing } }
`;
      const yaml = edited(["          - { identifier: K2000000001, secret: { file: DIR/k1 } }\n", keys]);
      return (await new ConfigFolder().problemsOf(yaml)).map(({ path }) => path);
    };
    expect(await pathsWith('"true"')).toEqual(["environments.sandbox.sites.S1000000003.keys[0].default"]);
    expect(await pathsWith("true")).toEqual(["environments.sandbox.sites.S1000000003.keys[1].secret"]);
  });

  test("a child of a parent whose secrets cannot be read", async () => {
    const yaml = edited([
      "DIR/blue }\n",
      "DIR/nowhere }\n        children:\n          S1000000002: { auth: [oauth] }\n",
    ]);
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(new Set(problems.map(({ path }) => path))).toEqual(
      new Set(["environments.sandbox.sites.S1000000001.credentials[0].dir"]),
    );
  });

  test("a listener of an environment that is faulty", async () => {
    const problems = await new ConfigFolder().problemsOf(
      edited(["    baseUrl: https://api.sandbox.example/json-api\n", ""]),
    );
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      ["environments.sandbox.baseUrl", "baseUrl is missing"],
    ]);
  });

  test("an auth whose keys are faulty", async () => {
    const yaml = edited(["        keys:\n", "        auth: [hmac]\n        keys:\n"], ["K2000000001", "X2000000001"]);
    const problems = await new ConfigFolder().problemsOf(yaml);
    expect(problems.map(({ path }) => path)).toEqual(["environments.sandbox.sites.S1000000003.keys[0].identifier"]);
  });
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
    const readFile = async () => ({ bytes: Buffer.from([0xff, 0xfe, 0x41]), mode: 0o600 });
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
