/** In the image, `serve` starts from code that V8 has compiled before: scripts/code-cache.mjs makes this code. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { bundle } from "../../../testkit/bundle.ts";
import { imageOptions } from "../../../testkit/image-options.ts";
import { plainEnvironment, startServe } from "../../../testkit/run-program.ts";
import { writeServed } from "../../load/served.ts";

const other = "9.9.9";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

it("compiled code has the same bytes each time, so that two builds of an image are the same", () => {
  const { compile } = stage();
  expect(compile().equals(compile())).toBe(true);
});

/** Gives the source another length than the compiled one: V8 compares nothing else. */
function changeSource(program: string): void {
  const text = readFileSync(program, "utf8");
  const changed = text.replaceAll(`"${version}"`, `"${other}"`);
  expect(changed).not.toBe(text);
  writeFileSync(program, changed);
}

it("compiled code is what starts, with the image's options", { timeout: 60_000 }, async () => {
  const { program, compile, startedVersion } = stage();
  compile();
  changeSource(program);
  // In earlier versions of Node, limits of memory are options that need other code.
  const options = Number.parseInt(process.versions.node, 10) < 24 ? [] : imageOptions(256 * 2 ** 20);
  expect(await startedVersion(options)).toBe(version);
});

it.each([
  ["other options of V8 need other code", () => {}, ["--no-opt"], other],
  ["its file is broken", (file: string) => writeFileSync(file, "no code"), [], other],
  ["its file is missing, as in the npm package", (file: string) => rmSync(file), [], version],
])("compiled code is not needed: %s", { timeout: 60_000 }, async (_, change, options, started) => {
  const { program, compile, startedVersion } = stage();
  compile();
  changeSource(program);
  change(`${program}.cache`);
  expect(await startedVersion(options)).toBe(started);
});

/** The built command with compiled code; starting it returns the version that has started. */
function stage() {
  const main = bundle();
  const program = join(dirname(main), "bundled/serve-script.cjs");
  const file = writeServed("https://localhost", "127.0.0.1:0", "");
  const compile = () => {
    execFileSync(process.execPath, ["scripts/code-cache.mjs", dirname(main)], { env: plainEnvironment() });
    return readFileSync(`${program}.cache`);
  };
  const startedVersion = async (options: string[] = []) => {
    const { events, stop } = await startServe(file, { main, options });
    expect(await stop()).toBe(0);
    return events("started")[0].version;
  };
  return { program, compile, startedVersion };
}
