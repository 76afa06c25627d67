/** Few dependencies, pinned to version and bytes, no install scripts, a bill of materials; docs/security.md says so. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { emptyFolder } from "../../testkit/empty-folder.ts";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { packages: locked } = JSON.parse(readFileSync("package-lock.json", "utf8"));
const [, document = ""] = readFileSync("docs/security.md", "utf8").split("\n## Dependencies\n");
const direct: Readonly<Record<string, string>> = manifest.dependencies;
/** The links in the lockfile to this repository's own packages, and their targets. */
const links: Readonly<Record<string, string>> = {
  "node_modules/countersign": "",
  "node_modules/countersign-simulator": "simulator",
};
const own = [...Object.keys(links), ...Object.values(links)];
const everything = Object.keys(locked).flatMap((path) => (own.includes(path) ? [] : [[path, locked[path]] as const]));
const production = everything.filter(([, { dev }]) => dev !== true);
const nameOf = (path: string) => path.split("node_modules/").at(-1) ?? path;

describe("docs/security.md", () => {
  const rows = document
    .split("\n")
    .filter((line) => /^\| [a-z]/.test(line) && !line.startsWith("| package"))
    .map((line) => line.split("|").map((cell) => cell.trim()));

  it("lists the dependencies of package.json, with version and licence, and gives reasons", () => {
    const listed = rows.map(([, name = "", version, licence]) => ({ name, version, licence }));
    const wanted = Object.entries(direct).map(([name, version]) => {
      return { name, version, licence: locked[`node_modules/${name}`]?.license };
    });
    expect(listed).toEqual(wanted);
    for (const [, , , , what = "", kept = "", instead = ""] of rows) {
      for (const reason of [what, kept, instead]) expect(reason.length).toBeGreaterThan(10);
    }
  });

  it("gives the right numbers of packages", () => {
    const [, own, all] = /(\d+) packages that Countersign imports, (\d+) with all that those need/.exec(document) ?? [];
    expect([Number(own), Number(all)]).toEqual([rows.length, production.length]);
  });

  it("names the licence of every package in production", () => {
    const [, list = ""] = /^Licences that are taken: (.*)\.$/m.exec(document) ?? [];
    const taken = list.split(/, | and /);
    expect(production.filter(([, { license = "none" }]) => !taken.includes(license))).toEqual([]);
  });
});

describe("foreign code that is changed at run time", () => {
  const page = readFileSync("CONTRIBUTING.md", "utf8");
  const rows = [...page.matchAll(/^\| \[([\w-]+\.ts)\]\((src\/\S+)\) \| (.*?) \| (.*?) \| (.*) \|$/gm)];

  it.each(
    rows.map(([, name = "", file = "", what = "", version = "", tests = ""]) => ({ name, file, what, version, tests })),
  )("in $name was read at the version in use: $what", ({ file, what, version, tests }) => {
    expect(readFileSync(file, "utf8")).toContain(/`(?:\w+\.)*(\w+)`/.exec(what)?.[1] ?? what);
    const name = Object.keys(direct).find((each) => what.startsWith(each)) ?? "Node.js";
    expect(version).toBe(direct[name] ?? "Node.js 20 to 26");
    for (const [, path = ""] of tests.matchAll(/\((test\/\S+)\)/g)) expect(readFileSync(path, "utf8")).not.toBe("");
  });

  it("is listed", () => {
    expect(rows).toHaveLength(9);
  });
});

it("the answers to advisories have the form of OpenVEX, and speak of versions in use", () => {
  const vex = JSON.parse(readFileSync("deploy/vex/countersign.openvex.json", "utf8"));
  expect(vex).toMatchObject({ "@context": "https://openvex.dev/ns/v0.2.0", version: expect.any(Number) });
  expect(Date.parse(vex.timestamp)).toBeGreaterThan(0);
  expect(vex.statements.length).toBeGreaterThan(0);
  for (const { vulnerability, products, status, justification, impact_statement } of vex.statements) {
    expect(vulnerability.name).toMatch(/^CVE-\d{4}-\d+$/);
    expect(status).toBe("not_affected");
    expect(justification ?? impact_statement).toBeDefined();
    for (const { subcomponents } of products) {
      for (const { "@id": id } of subcomponents) {
        const [, name = "", version] = /^pkg:npm\/(.+)@(.+)$/.exec(id) ?? [];
        expect(direct[name]).toBe(version);
      }
    }
  }
});

it("every dependency, including those for development, is pinned to one version", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync("simulator/package.json", "utf8"));
  expect(dependencies).toBeUndefined();
  const { countersign, ...ofSimulator } = devDependencies;
  expect(countersign).toBe("file:..");
  const versions = { ...direct, ...manifest.devDependencies, ...ofSimulator };
  expect(Object.values<string>(versions).filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  expect(manifest).not.toHaveProperty("optionalDependencies");
  expect(manifest).not.toHaveProperty("overrides");
  for (const [name, version] of Object.entries(versions)) {
    expect(locked[`node_modules/${name}`]?.version).toBe(version);
  }
});

it("the lockfile pins the bytes of every package, all from the registry in use", () => {
  const loose = everything.filter(([, { version, integrity = "", resolved, link }]) => {
    // The lockfile leaves out the registry's own address (.npmrc), but would contain a git or a tarball address.
    return version === undefined || !/^sha512-/.test(integrity) || resolved !== undefined || link === true;
  });
  expect(loose).toEqual([]);
  for (const [path, resolved] of Object.entries(links)) {
    expect(locked[path]).toEqual({ resolved, link: true });
  }
  expect(readFileSync(".npmrc", "utf8")).toContain("omit-lockfile-registry-resolved=true");
});

it("nothing in production needs an install script", () => {
  expect(production.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name))).toEqual([]);
});

it("the bill of materials is CycloneDX and lists exactly the packages in production", () => {
  const folder = emptyFolder();
  const [text = "", again] = ["one", "other"].map((name) => {
    const file = join(folder, name);
    execFileSync(process.execPath, ["scripts/sbom.mjs", file], { stdio: ["ignore", "ignore", "inherit"] });
    return readFileSync(file, "utf8");
  });
  // Equal files give images of one commit the same layers.
  expect(text).toBe(again);
  const bill = JSON.parse(text);
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", specVersion: expect.stringMatching(/^1\.\d$/), version: 1 });
  expect(bill.metadata.component).toMatchObject({
    type: "application",
    name: manifest.name,
    version: manifest.version,
  });
  const listed = bill.components.map(
    ({ name, version, purl, hashes }: { name: string; version: string; purl: string; hashes: unknown[] }) => {
      expect(purl).toBe(`pkg:npm/${name.replace("@", "%40")}@${version}`);
      expect(hashes).toHaveLength(1);
      return `${name}@${version}`;
    },
  );
  expect(listed.sort()).toEqual(production.map(([path, { version }]) => `${nameOf(path)}@${version}`).sort());
});
