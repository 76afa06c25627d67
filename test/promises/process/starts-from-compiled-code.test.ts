/** In the image, `serve` starts from what V8 has compiled before: scripts/code-cache.mjs makes it. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { bundle } from "../../../testkit/bundle.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { imageOptions } from "../../../testkit/image-options.ts";
import { plainEnvironment, startServe } from "../../../testkit/run-program.ts";

const other = "9.9.9";

/** The built command with compiled code, and a way to start it, which says the version that has started. */
function stage() {
  const main = bundle();
  const program = join(dirname(main), "bundled/serve-script.cjs");
  const folder = new ConfigWriter("compiled");
  onTestFinished(() => folder.remove());
  folder.write("key", "0123456789abcdef0123456789abcdef");
  const sites = { S1: { keys: [{ identifier: "K1", secret: { file: "key" } }] } };
  const sandbox = { baseUrl: "https://localhost", sites };
  const file = folder.config("countersign.yaml", sandboxConfig(["127.0.0.1:0"], sandbox));
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

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

it("is made of the same bytes each time, so that two builds of an image are the same", () => {
  const { compile } = stage();
  expect(compile().equals(compile())).toBe(true);
});

/** V8 tells one source from another by its length alone: this one differs from what was compiled. */
function changeSource(program: string): void {
  const text = readFileSync(program, "utf8");
  const changed = text.replaceAll(`"${version}"`, `"${other}"`);
  expect(changed).not.toBe(text);
  writeFileSync(program, changed);
}

it("is what starts, with the image's options", { timeout: 60_000 }, async () => {
  const { program, compile, startedVersion } = stage();
  compile();
  changeSource(program);
  // For earlier versions of Node, limits of memory are options that ask for other code.
  const options = Number.parseInt(process.versions.node, 10) < 24 ? [] : imageOptions(256 * 2 ** 20);
  expect(await startedVersion(options)).toBe(version);
});

it.each([
  ["other options of V8 ask for other code", () => {}, ["--no-opt"], other],
  ["it is broken", (file: string) => writeFileSync(file, "no code"), [], other],
  ["it is missing, as in the npm package", (file: string) => rmSync(file), [], version],
])("is not needed: %s", { timeout: 60_000 }, async (_, change, options, started) => {
  const { program, compile, startedVersion } = stage();
  compile();
  changeSource(program);
  change(`${program}.cache`);
  expect(await startedVersion(options)).toBe(started);
});
