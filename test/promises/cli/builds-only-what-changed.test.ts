import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, symlinkSync } from "node:fs";
import { appendFile, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigWriter } from "../../../testkit/config-writer.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";

// `npm run demo` and other scripts begin with scripts/build.mjs --if-stale, which builds only if the sources have changed.
// Here it builds programs of one line. Most tests remove the compiler first, so that an attempt to build is seen by its failure.

const announcement = "building… this takes 5 to 30 seconds, and only when something has changed\n";
const noCompiler = `${announcement}The compiler is not installed. Run npm ci first.\n`;
const writer = new ConfigWriter("build");
const template = writer.path;

beforeAll(() => {
  const files = ["LICENSE", "package.json", "simulator/package.json", "tsconfig.json", "tsconfig.build.json"];
  const scripts = ["build.mjs", "build-record.mjs", "bundle.mjs"].map((name) => `scripts/${name}`);
  for (const name of [...files, ...scripts]) cpSync(name, join(template, name));
  for (const name of ["package-lock.json", "node_modules/.package-lock.json"]) writer.write(name, "{}");
  for (const name of ["typescript", "esbuild", "@types", "undici-types"])
    symlinkSync(resolve("node_modules", name), join(template, "node_modules", name));
  const line = 'process.stdout.write("one\\n");\n';
  const programs = ["main.ts", "cli/serve-program.ts", "unused.ts"].map((name) => `src/${name}`);
  for (const name of [...programs, "simulator/src/main.ts", "simulator/src/program.ts"]) writer.write(name, line);
  expect(build(template)).toEqual({ status: 0, stderr: "" });
});

afterAll(() => writer.remove());

const removeCompiler = (folder: string) => rm(join(folder, "node_modules/typescript"));

it.each([
  { when: "after a build", timeMs: undefined },
  { when: "when a checkout has made sources newer", timeMs: Date.now() + 86_400_000 },
  { when: "when a checkout has made sources older", timeMs: 0 },
])("does not build again $when", async ({ timeMs }) => {
  const folder = copyTemplate();
  await removeCompiler(folder);
  if (timeMs !== undefined) await utimes(join(folder, "src/main.ts"), timeMs / 1_000, timeMs / 1_000);
  expect(build(folder, "--if-stale")).toEqual({ status: 0, stderr: "" });
});

const edit = (name: string) => (at: string) => appendFile(join(at, name), "\n");
const remove = (name: string) => (at: string) => rm(join(at, name), { recursive: true });
const empty = (name: string) => (at: string) => writeFile(join(at, name), "");

it.each([
  { change: "a source was edited", make: edit("src/main.ts") },
  { change: "a source was removed", make: remove("src/unused.ts") },
  { change: "a source is new", make: empty("src/new.ts") },
  { change: "the simulator was edited", make: edit("simulator/src/main.ts") },
  { change: "the compiler has other options", make: edit("tsconfig.json") },
  { change: "the version has changed", make: edit("package.json") },
  { change: "the build script was edited", make: edit("scripts/bundle.mjs") },
  { change: "the lock file was edited", make: edit("package-lock.json") },
  { change: "other packages are installed", make: edit("node_modules/.package-lock.json") },
  { change: "a built file was edited", make: edit("dist/main.js") },
  { change: "a built file was removed", make: remove("simulator/dist/program.js") },
  { change: "dist was removed", make: remove("dist") },
  { change: "the record was removed", make: remove("dist.record.json") },
  { change: "the record is empty", make: empty("dist.record.json") },
])("builds, and says so, when $change", async ({ make }) => {
  const folder = copyTemplate();
  await removeCompiler(folder);
  await make(folder);
  expect(build(folder, "--if-stale")).toEqual({ status: 1, stderr: noCompiler });
});

it("never treats a failed build as a good one, and leaves the last good one in place", async () => {
  const folder = copyTemplate();
  const source = join(folder, "src/main.ts");
  const good = await readFile(source, "utf8");
  await appendFile(source, 'const count: number = "many";\n');
  for (const _ of [1, 2]) {
    expect(build(folder, "--if-stale")).toEqual({ status: 2, stderr: announcement });
    expect(runBuilt(folder)).toBe("one\none\n");
    expect(leftovers(folder)).toEqual([]);
  }
  await writeFile(source, good);
  expect(build(folder, "--if-stale")).toEqual({ status: 0, stderr: "" });
});

/** A folder in which everything is built. */
function copyTemplate(): string {
  const folder = emptyFolder();
  cpSync(template, folder, { recursive: true });
  return folder;
}

function build(folder: string, ...args: string[]) {
  const command = [join(folder, "scripts/build.mjs"), ...args];
  const { status, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: "utf8" });
  return { status, stderr };
}

function runBuilt(folder: string): string {
  return ["dist/main.js", "simulator/dist/main.js"]
    .map((name) => spawnSync(process.execPath, [join(folder, name)], { encoding: "utf8" }).stdout)
    .join("");
}

/** Files that builds have left besides their results. */
function leftovers(folder: string): string[] {
  return [...readdirSync(folder), ...readdirSync(join(folder, "simulator"))].filter((name) =>
    /^dist\.(?!record\.json$)/.test(name),
  );
}
