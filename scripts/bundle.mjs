// Bundles a program into few files, which need no node_modules; the licences of the bundled packages are beside them.
// Most of a start goes into finding, opening and compiling files; from a bundle a process listens in half the time.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { build } from "esbuild";

/**
 * Bundles a program. esbuild would put code shared by commands into one file for each group of commands, so the command that
 * starts most often is bundled apart.
 * @param entries files of the program; the one called main is its command
 * @param alone a file that one of the entries imports dynamically, which is bundled apart
 */
export async function bundle(entries, folder, alone) {
  const metafiles = [await bundleModules(entries, folder, alone)];
  if (alone !== undefined) metafiles.push(await bundleModules({ [nameOf(alone)]: alone }, folder));
  chmodSync(join(folder, "main.js"), 0o755);
  const inputs = Object.assign({}, ...metafiles.map((metafile) => metafile.inputs));
  const licences = packagesOf(inputs).map((name) => `${name}\n\n${licenceOf(name)}`);
  writeFileSync(join(folder, "third-party-licenses.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
}

/** The path of a file that is bundled apart. */
function nameOf(file) {
  return `bundled/${basename(file, ".ts")}`;
}

function bundleModules(entryPoints, outdir, alone) {
  return bundleAs({
    entryPoints,
    outdir,
    chunkNames: "bundled/[name]-[hash]",
    // A command's code stays in separate files, which no other command loads.
    splitting: true,
    format: "esm",
    // CommonJS packages load Node's own modules with `require`.
    banner: {
      js: 'import { createRequire as toRequire } from "node:module"; const require = toRequire(import.meta.url);',
    },
    plugins: [...plugins, { name: "alone", setup: (build) => alone !== undefined && keepApart(build, alone) }],
  });
}

/** Bundles a file into one script: a function that is called with `require` and the module that it fills. */
export function bundleScript(file, outfile) {
  return bundleAs({
    entryPoints: [file],
    outfile,
    format: "cjs",
    banner: { js: "(function (require, module) {" },
    footer: { js: "})" },
    plugins,
  });
}

const plugins = [
  { name: "version", setup: writeVersion },
  { name: "strings", setup: keepStringsFast },
  { name: "metrics", setup: leaveOut },
];

async function bundleAs(options) {
  const { metafile } = await build({
    ...options,
    bundle: true,
    platform: "node",
    target: "node20",
    // Resolves `countersign`, which the simulator imports by name, to its sources.
    conditions: ["source"],
    metafile: true,
    // Installed for development only.
    external: ["supports-color"],
  });
  for (const file of Object.keys(metafile.outputs)) escapeNonAscii(file);
  return metafile;
}

/** With one character outside Latin-1, V8 stores a text with two bytes for each character, and reads it more slowly. esbuild leaves some. */
function escapeNonAscii(file) {
  const text = readFileSync(file, "utf8");
  const escapeEach = (characters) =>
    characters.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  writeFileSync(file, text.replace(/\P{ASCII}+/gu, escapeEach));
}

function keepApart({ onResolve }, alone) {
  const path = `./${nameOf(alone)}.js`;
  onResolve({ filter: new RegExp(`/${basename(alone)}$`) }, () => ({ path, external: true }));
}

/** The names of the packages that are in a bundle. */
function packagesOf(inputs) {
  const names = Object.keys(inputs).flatMap((path) => /^node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort();
}

/** The module finds package.json by its own path, which differs in a bundle. */
function writeVersion({ onLoad }) {
  const module = resolve("src/version.ts");
  const { version, homepage } = JSON.parse(readFileSync("package.json", "utf8"));
  const contents = `export const version = ${JSON.stringify(version)}; export const homepage = ${JSON.stringify(homepage)};`;
  onLoad({ filter: /[\\/]version\.ts$/ }, ({ path }) => (path === module ? { contents } : undefined));
}

/**
 * V8 reads characters five times slower once a class extends String, anywhere in the process. ioredis has such a class, for a
 * kind of reply that a client must request, and Countersign never does.
 */
function keepStringsFast({ onLoad }) {
  const contents = "exports.VerbatimString = class VerbatimString {};";
  onLoad({ filter: /[\\/]ioredis[\\/]built[\\/]resp[\\/]verbatim-string\.js$/ }, () => ({ contents }));
}

/** Parts that prom-client loads and nobody here uses; they would bring `node:http` and a package for spans into the bundle. */
function leaveOut({ onLoad }) {
  const unused = /[\\/]prom-client[\\/]lib[\\/](cluster|pushgateway|summary)\.js$/;
  onLoad({ filter: unused }, () => ({ contents: "" }));
  onLoad({ filter: /[\\/]@opentelemetry[\\/]api[\\/].*\.js$/ }, () => ({ contents: "" }));
}

function licenceOf(name) {
  const home = join("node_modules", name);
  const file = readdirSync(home).find((each) => /^licen[cs]e/i.test(each));
  if (file !== undefined) return readFileSync(join(home, file), "utf8");
  const { license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return `${license}\n`;
}
