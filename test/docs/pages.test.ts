/**
 * The pages agree with the code: also the rights in Redis, and a signature that was not made with the key.
 * test/docs/try-it.test.ts types the pages' commands.
 */
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { redisKey } from "../../src/adapters/redis/scripts.ts";
import { exitCodes } from "../../src/cli/command.ts";
import { readDocument, toYaml } from "../../src/config/files/yaml.ts";
import { environmentSchema } from "../../src/config/form/environment.ts";
import { configSchema } from "../../src/config/form/schema.ts";
import { type Failure, failures } from "../../src/model/errors.ts";
import { passedUpstream } from "../../src/orders/enrich.ts";
import { aclRules, clusterRules } from "../../testkit/acl.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { runWithInput } from "../../testkit/run-program.ts";
import { alerts } from "../platform/prometheus/rules.ts";

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

describe("since 2026-08-01 new clients must use OAuth (spec 5.1), so", () => {
  const files = spawnSync("git", ["ls-files", "examples", "deploy", "helm", "docs", "README.md"], { encoding: "utf8" });
  const texts = new Map(
    files.stdout
      .trim()
      .split("\n")
      .map((file) => [file, readFileSync(file, "utf8")]),
  );
  const signing = [
    "examples/hmac.yaml",
    "examples/bridge/countersign.yaml",
    "examples/moving-from-hmac/countersign.yaml",
  ];

  /** Sites and child sites in a configuration, at any depth. */
  function sitesIn(value: unknown): { readonly auth?: unknown; readonly credentials?: unknown }[] {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) => {
      const own = name === "sites" && typeof inner === "object" && !Array.isArray(inner) ? Object.values(inner) : [];
      return [...own.filter((site) => typeof site === "object" && site !== null), ...sitesIn(inner)];
    });
  }

  it("every site in an example, a deployment, a chart or a document uses OAuth alone, except in examples of older clients", () => {
    const written = [...texts].flatMap(([file, text]) => {
      if (/\/(templates|files)\//.test(file)) return [];
      if (file.endsWith(".md")) {
        return [...text.matchAll(/```yaml[ \w/]*\n([\s\S]*?)```/g)].map(([, yaml = ""]) => [file, yaml] as const);
      }
      return file.endsWith(".yaml") ? [[file, text] as const] : [];
    });
    const sites = written
      .filter(([, yaml]) => yaml.includes("sites:") && !yaml.includes("{{"))
      .flatMap(([file, yaml]) =>
        parseAllDocuments(yaml)
          .flatMap((each) => sitesIn(each.toJS()))
          .map((site) => ({ file, site })),
      );
    expect(sites.length).toBeGreaterThan(25);
    const wrong = sites.filter(
      ({ site: { auth = ["oauth"], credentials } }) => credentials === undefined || `${auth}` !== "oauth",
    );
    expect([...new Set(wrong.map(({ file }) => file))].sort()).toEqual([...signing].sort());
  });

  it("these examples say first for whom they are, and no other silences the warning", () => {
    for (const file of signing) expect(texts.get(file)).toMatch(/^# For a client from before 2026-08-01/);
    const silent = [...texts].filter(([, text]) => /^acknowledge: .*hmac_for_existing_clients/m.test(text));
    expect(silent.map(([file]) => file)).toEqual(signing.slice(1).sort());
  });

  it("the README shows an order with a token, and no signature", () => {
    const [, order = ""] = /(POST \/json-api\/create_order[\s\S]*?)```/.exec(texts.get("README.md") ?? "") ?? [];
    expect(order).toContain("\nAuthorization: Bearer ");
    expect(order).not.toContain("signature");
  });
});

it("docs/troubleshooting.md has each failure, below a heading with its status or with callbacks", () => {
  const [, ...sections] = readFileSync("docs/troubleshooting.md", "utf8").split(/^## /m);
  const lost = Object.entries(failures).filter(([code, { status, only }]: [string, Failure]) => {
    const where = only === "callback" ? "Callbacks" : `${status}`;
    return !sections.some((section) => section.split("\n", 1)[0]?.includes(where) && section.includes(`\`${code}\``));
  });
  expect(lost.map(([code]) => code)).toEqual([]);
});

const alertNames = alerts.map(({ alert }) => alert);

/** The default shell of macOS reads a comment behind a command that is typed as its arguments. */
it("no page for users has a comment behind a command", () => {
  const listed = spawnSync("git", ["ls-files", "*.md"], { encoding: "utf8" }).stdout.split("\n");
  const pages = listed.filter((file) =>
    /^(README|(docs|deploy|helm|examples)\/.*|simulator\/README|scripts\/site\/front-page)\.md$/.test(file),
  );
  expect(pages).toContain("docs/alerts/CountersignRedisDown.md");
  const commented = pages.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/^```(?:sh|bash)\n([\s\S]*?)^```/gm)]
      .flatMap(([, block = ""]) => block.split("\n").filter((line) => /(?:^|\s)# /.test(line)))
      .map((line) => `${file}: ${line}`),
  );
  expect(commented).toEqual([]);
});

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

type Written = Record<string, object> & { readonly environments: { readonly sandbox: object } };
