import { expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { blue, listener } from "./refusal.ts";

// The other side of the refusals: what stands next to them and is meant to work.

async function load(yaml: string): Promise<Config> {
  const loaded = await new ConfigFolder().loadSound(yaml);
  return loaded.config;
}

test.each([
  ["one environment's port at 127.0.0.1 and at ::1", '  - { bind: "[::1]:7411", environment: sandbox }\n'],
  ["port 0 any number of times", '  - { bind: "127.0.0.1:0", environment: sandbox }\n'.repeat(2)],
  ["callers: anyone beyond loopback", '  - { bind: ":7414", environment: sandbox, callers: anyone }\n'],
])("%s", async (_, more) => {
  const { listeners } = await load(edited([listener, `${listener}${more}`]));
  expect(listeners).toHaveLength(1 + more.trimEnd().split("\n").length);
});

test.each(["3.0", "3.1", "10.0"])("OAuth for version %s", async (version) => {
  const { environments } = await load(
    edited(["      S1000000001:\n", `      S1000000001:\n        version: "${version}"\n`]),
  );
  expect(environments.get("sandbox")?.sites.get("S1000000001")).toMatchObject({ version, auth: ["oauth"] });
});

test("hosts and headers are kept in lower case", async () => {
  const yaml = edited(
    [listener, '  - { bind: "127.0.0.1:7411", environment: sandbox, hosts: [App.Internal] }\n'],
    ["    operations:", "    forwardHeaders: [X-Tenant]\n    operations:"],
  );
  const config = await load(`${yaml}log: { upstreamHeaders: [X-Correlation-Id] }\n`);
  expect(config.listeners[0]?.hosts).toEqual(["app.internal"]);
  expect(config.environments.get("sandbox")?.forwardHeaders).toEqual(["x-tenant"]);
  expect(config.log.upstreamHeaders).toEqual(["x-correlation-id"]);
});

test.each([
  ["[504, 502, 504]", [502, 504]],
  ["[]", []],
])("statuses that leave the outcome undecided: %s", async (given, statuses) => {
  const { environments } = await load(edited(["    operations:", `    undecided: ${given}\n    operations:`]));
  expect(environments.get("sandbox")?.undecided).toEqual(new Set(statuses));
});

test("two environments that share nothing, each with its own", async () => {
  const { environments } = await load(`${sound}${production.replace("[create_order]", '["*"]')}`);
  expect([...environments.keys()]).toEqual(["sandbox", "production"]);
  expect(environments.get("production")?.operations).toBe("any");
});

test("two sites of one environment may share a client id and a secret", async () => {
  const second = "      S5: { credentials: [ { name: blue, dir: DIR/blue } ] }\n";
  const config = await load(edited(["    sites:\n", `    sites:\n${second}`]));
  expect(config.environments.get("sandbox")?.sites.get("S5")?.credentials?.sets[0].label).toBe("S5/blue");
});

test("aliases: what several sites have in common is written once", async () => {
  const yaml = edited([
    blue,
    `${blue}        exempt: &exempt [format, call, comment]
      S5: { exempt: *exempt, credentials: [ { name: a, dir: DIR/blue } ] }
      S6: { exempt: *exempt, credentials: [ { name: a, dir: DIR/blue } ] }
`,
  ]);
  const sites = (await load(yaml)).environments.get("sandbox")?.sites;
  const exempt = new Set(["format", "call", "comment", "signature"]);
  for (const name of ["S1000000001", "S5", "S6"]) expect(sites?.get(name)?.exempt).toEqual(exempt);
});

test.each([
  ["of meaning", "timestamp", ["15 S1000000001.exempt[0]", "16 S5.exempt[0]", "16 S5"]],
  ["of form", '""', ["15 S1000000001.exempt[0]", "16 S5.exempt[0]"]],
  ["of form, beside another one", '"", keys: []', ["15 S1000000001.exempt[0]", "16 S5.exempt[0]", "16 S5.keys"]],
])("a problem %s behind an alias is at the alias's key", async (_, name, places) => {
  const [first, ...rest] = name.split(", ");
  const site = `S5: { ${["exempt: *exempt", ...rest].join(", ")} }`;
  const yaml = edited([blue, `${blue}        exempt: &exempt [${first}]\n      ${site}\n`]);
  const problems = await new ConfigFolder().problemsOf(yaml);
  const found = problems.map(({ path, line }) => `${line} ${path.replace(/^.*sites\./, "")}`);
  expect(found.sort()).toEqual(places.toSorted());
});
