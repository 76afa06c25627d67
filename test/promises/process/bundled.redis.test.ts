/** The command as in the proxy's image: bundled, without packages and without the simulator. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { stageBothWays } from "../../../testkit/both-ways.ts";
import { bundle } from "../../../testkit/bundle.ts";
import { sites } from "../../../testkit/faults-configuration.ts";
import { runToEnd, startServe } from "../../../testkit/run-program.ts";

it("signs and authorises orders, with a shared token, and ends with 0", { timeout: 60_000 }, async () => {
  const { redis, file, orderAt } = await stageBothWays();
  const main = bundle();
  const program = await startServe(file, { main });
  for (const site of Object.values(sites)) expect(await orderAt(site)).toBe(200);
  await expect.poll(() => redis.command("KEYS", "countersign:*:token")).toHaveLength(1);
  const doctor = await runToEnd(process.execPath, [main, "doctor", "--config", file]);
  expect(doctor.stdout).toMatch(/^ok +redis /m);
  expect(await program.stop()).toBe(0);
  expect(program.stderr()).toBe("");
});

it.each(["simulate", "demo"])("says where to get %s, which is left out of the bundle", async (command) => {
  const stderr = `countersign ${command} is left out here: the npm package countersign and the image countersign-simulator have it.\n`;
  const ended = await runToEnd(process.execPath, [bundle(), command, "--once", "more"]);
  expect(ended).toEqual({ exitCode: 2, stdout: "", stderr });
});

it("has the simulator beside it in the npm package, as a program of its own", () => {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8" });
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["dist/main.js", "dist/cli/serve.js", "simulator/dist/program.js"]));
  expect(paths.filter((path) => path.startsWith("dist/") && /simulat|demo/.test(path))).toEqual([]);
  // Beside the built files: those that package.json lists and git has, and those that npm adds.
  const { files: listed } = JSON.parse(readFileSync("package.json", "utf8"));
  const tracked = execFileSync("git", ["ls-files", ...listed, "package.json", "simulator/README.md"], {
    encoding: "utf8",
  });
  expect(paths.filter((path) => !/^(dist|simulator\/dist)\//.test(path)).sort()).toEqual(
    tracked.trim().split("\n").sort(),
  );
});

it.each([
  ["class that extends String, which would make every access to a character slow", /\bextends String\b/],
  ["character beyond ASCII, with which a file takes twice its memory", /[^\p{ASCII}]/u],
])("has no %s", (_, slow) => {
  const scripts = textsIn(dirname(bundle()));
  expect([...scripts].filter(([, text]) => slow.test(text)).map(([name]) => name)).toEqual([]);
});

it("holds no simulator, and the licence of every package in it", () => {
  const folder = dirname(bundle());
  const texts = [...textsIn(folder).values()];
  expect(texts.filter((text) => /^\/\/ simulator\//m.test(text))).toEqual([]);
  const packages = new Set(
    texts.flatMap((text) => [...text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(([, name]) => name)),
  );
  expect(packages.size).toBeGreaterThan(15);
  const { packages: locked } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const licences = readFileSync(join(folder, "third-party-licenses.txt"), "utf8");
  for (const name of packages) {
    expect(licences).toMatch(new RegExp(`^${name}$`, "m"));
    expect(locked[`node_modules/${name}`].dev).toBeUndefined();
  }
});

it("keeps the names of classes, which identify a defect", () => {
  const classesIn = (folder: string) => {
    const text = [...textsIn(folder).values()].join("\n");
    const written = text.matchAll(/^\s*(?:export )?(?:abstract )?(?:var (\w+) = )?class(?: (?!extends )(\w+))?/gm);
    return [...written].map(([, variable, name]) => name ?? variable);
  };
  const folder = dirname(bundle());
  // The image's script has all classes in one file.
  execFileSync(process.execPath, ["scripts/code-cache.mjs", folder]);
  const own = new Set(classesIn("src"));
  const bundled = classesIn(join(folder, "bundled"));
  expect(bundled).toContain("RecentRequests");
  // Of two classes with the same name in the file one would get a number.
  expect(bundled.filter((name = "") => own.has(name.replace(/\d+$/, "")) && !own.has(name))).toEqual([]);
});

/** The texts of a folder's files of code, by name. */
function textsIn(folder: string): ReadonlyMap<string, string> {
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const names = all.filter((name) => /\.(ts|c?js)$/.test(name));
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}
