/**
 * The pages agree with the code: row 59 for the rights in Redis, row 83 for a signature that was not made with the key.
 * test/docs/try-it.test.ts types the pages' commands.
 */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { redisKey } from "../../src/adapters/redis/scripts.ts";
import { exitCodes } from "../../src/cli/command.ts";
import { readDocument, toYaml } from "../../src/config/files/yaml.ts";
import { environmentSchema } from "../../src/config/form/environment.ts";
import { configSchema } from "../../src/config/form/schema.ts";
import { failures } from "../../src/model/errors.ts";
import { passedUpstream } from "../../src/proxy/enrich.ts";
import { aclRules, clusterRules } from "../../testkit/acl.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { runWithInput } from "../../testkit/run-program.ts";
import { alerts } from "../platform/prometheus/rules.ts";

type Written = Record<string, object> & { readonly environments: { readonly sandbox: object } };

const read = (text: string) => readDocument(text).value as Written;
const shownIn = (topic: string) =>
  [...readFileSync(`docs/${topic}.md`, "utf8").matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => read(text));
const exampleOf = (topic: string) => read(readFileSync(`examples/${topic}/countersign.yaml`, "utf8"));
/** Parses a configuration as if it came from a file. */
const parse = (config: object) => configSchema.parse(read(toYaml(config)));

it("docs/callers.md shows the listeners of the example", () => {
  expect(exampleOf("callers")).toMatchObject(shownIn("callers")[0] ?? {});
});

it.each(["once", "callbacks", "tracing"] as const)(
  "docs/%s.md shows settings that the schema accepts and that the example has",
  (topic) => {
    const own = exampleOf(topic);
    expect(parse({ ...own, ...shownIn(topic)[0] })[topic]).toEqual(parse(own)[topic]);
    expect(parse(own)[topic]).toBeDefined();
  },
);

it("docs/egress.md shows egress settings that the schema accepts", () => {
  const shown = shownIn("egress");
  expect(shown).toHaveLength(2);
  for (const { environments } of shown) {
    const rest = { baseUrl: "https://a", operations: ["a"], sites: {} };
    expect(environmentSchema.safeParse({ ...rest, ...environments.sandbox }).success).toBe(true);
  }
});

it("docs/pass-through.md shows routes that the schema accepts, and the first of them is the example's", () => {
  const own = exampleOf("pass-through");
  const passThrough = shownIn("pass-through")[0]?.["passThrough"] as readonly object[];
  parse({ ...own, environments: { sandbox: { ...own.environments.sandbox, passThrough } } });
  expect(own.environments.sandbox).toMatchObject({ passThrough: passThrough.slice(0, 1) });
});

it("docs/tracing.md lists all headers that pass to the service", () => {
  const page = readFileSync("docs/tracing.md", "utf8");
  const [, sentence = ""] = /Of the caller's headers only ([^.]*) pass to the service/.exec(page) ?? [];
  const listed = [...sentence.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name);
  expect(listed.sort()).toEqual([...passedUpstream].sort());
});

it("docs/redis.md grants exactly the rights with which the tests run", () => {
  const page = readFileSync("docs/redis.md", "utf8");
  const [, rules = ""] = /^ACL SETUSER countersign on >PASSWORD resetkeys (.*)$/m.exec(page) ?? [];
  expect(rules.split(" ")).toEqual(aclRules);
  expect(page).toContain(`\`${clusterRules.join(" ")}\``);
});

it("docs/moving-from-hmac.md: a reader who types its commands sees that a caller's own signature is checked and dropped", () => {
  const folder = emptyFolder();
  cpSync("examples/moving-from-hmac", folder, { recursive: true });
  for (const secret of ["k1", "blue"]) writeFileSync(`${folder}/${secret}`, "a-secret-of-the-portal");
  const input = '{"version":"3.0","site_identifier":"S1000000003","timestamp":"1700000000","signature":"wrong"}';
  const { stderr } = runWithInput(input, ["preview", "--config", `${folder}/countersign.yaml`]);
  expect(stderr).toContain("The caller's own signature, which is dropped: invalid.\n");
});

describe("docs/compatibility.md names", () => {
  const page = readFileSync("docs/compatibility.md", "utf8");

  it("the form of the keys in Redis", () => {
    const [prefix] = redisKey("x", "token").split("{");
    expect(page).toContain(`Keys begin with \`${prefix}\``);
  });

  it("the versions of Node.js that package.json accepts, and those on which the tests run", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8"));
    const newer = readFileSync(".ci/run", "utf8").matchAll(/run_tests_on (\d+)/g);
    const tested = ["20", ...[...newer].map(([, line]) => line)];
    const lines = `${tested.slice(0, -1).join(", ")} and ${tested.at(-1)}`;
    expect(page).toContain(`\`engines\` says \`${engines.node}\`; ${lines} are tested.`);
  });

  it("every exit code and every outcome", () => {
    const codes = Object.values(exitCodes).join(", ");
    expect(page).toContain(`exit codes ${codes.replace(/, (\d+)$/, " and $1")}`);
    const outcomes = new Set(["answered", ...Object.values(failures).flatMap(({ outcomes }) => outcomes)]);
    expect([...outcomes].sort()).toEqual(["answered", "not_sent", "unknown"]);
    expect(page).toContain("`answered`, `not_sent` and `unknown`");
  });

  it("the user of the image", () => {
    const [, user = ""] = /^USER (\d+):/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
    expect(page).toContain(`image: user ${user},`);
  });
});

const alertNames = alerts.map(({ alert }) => alert);

it("docs/alerts has a page for each alert, and no other", () => {
  expect(readdirSync("docs/alerts").sort()).toEqual(alertNames.map((name) => `${name}.md`).sort());
});

it.each(alertNames)("docs/alerts: %s says what it means, where to look and what to do, on one screen", (name) => {
  const text = readFileSync(`docs/alerts/${name}.md`, "utf8");
  const parts = text.match(/^\*\*(?:Means|Look|Do)\*\*:|^\*\*Look\*\*, \*\*do\*\*: as for \[Countersign/gm) ?? [];
  expect(text.startsWith(`# ${name}\n\n**Means**: `)).toBe(true);
  if (parts.length === 2) expect(parts[1]).toMatch("as for");
  else expect(parts).toEqual(["**Means**:", "**Look**:", "**Do**:"]);
  expect(text.split("\n").length).toBeLessThanOrEqual(30);
});
