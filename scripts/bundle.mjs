// Makes few files of a program: they need no node_modules, and the licences of what is in them lie beside them.
// Most of a start goes into finding, opening and compiling files; this takes a process half as long to listen.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { build } from "esbuild";

/**
 * Bundles a program. What esbuild would share among its commands becomes a file for each group of them that shares it, so what
 * starts most is a program of its own.
 * @param entries files of the program; the one called main is its command
 * @param alone a file that one of them imports dynamically, which is bundled apart
 */
export async function bundle(entries, folder, alone) {
  const metafiles = [await bundleModules(entries, folder, alone)];
  if (alone !== undefined) metafiles.push(await bundleModules({ [nameOf(alone)]: alone }, folder));
  chmodSync(join(folder, "main.js"), 0o755);
  const inputs = Object.assign({}, ...metafiles.map((metafile) => metafile.inputs));
  const licences = packagesOf(inputs).map((name) => `${name}\n\n${licenceOf(name)}`);
  writeFileSync(join(folder, "third-party-licenses.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
}

/** Where a file that is bundled apart lies. */
function nameOf(file) {
  return `bundled/${basename(file, ".ts")}`;
}

function bundleModules(entryPoints, outdir, alone) {
  return bundleAs({
    entryPoints,
    outdir,
    chunkNames: "bundled/[name]-[hash]",
    // A command's code stays in files of its own, which no other command loads.
    splitting: true,
    format: "esm",
    // Packages of the old module system ask for Node's own modules so.
    banner: {
      js: 'import { createRequire as toRequire } from "node:module"; const require = toRequire(import.meta.url);',
    },
    plugins: [...plugins, { name: "alone", setup: (build) => alone !== undefined && keepApart(build, alone) }],
  });
}

/** Makes one script of a file: a function, which is called with `require` and the module that it fills. */
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
    // countersign from its sources, which the simulator imports by the package's name.
    conditions: ["source"],
    metafile: true,
    // What only development has.
    external: ["supports-color"],
  });
  for (const file of Object.keys(metafile.outputs)) escapeNonAscii(file);
  return metafile;
}

/** V8 keeps a text with one other character at two bytes for each, and takes longer to read it. esbuild leaves some. */
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

/** The module finds package.json by its own place, which is another one here. */
function writeVersion({ onLoad }) {
  const module = resolve("src/version.ts");
  const { version, homepage } = JSON.parse(readFileSync("package.json", "utf8"));
  const contents = `export const version = ${JSON.stringify(version)}; export const homepage = ${JSON.stringify(homepage)};`;
  onLoad({ filter: /[\\/]version\.ts$/ }, ({ path }) => (path === module ? { contents } : undefined));
}

/**
 * V8 reads characters five times slower once a class extends String, anywhere in the process. ioredis has such a class, for a
 * kind of reply that is only made where it is asked for, and here it never is.
 */
function keepStringsFast({ onLoad }) {
  const contents = "exports.VerbatimString = class VerbatimString {};";
  onLoad({ filter: /[\\/]ioredis[\\/]built[\\/]resp[\\/]verbatim-string\.js$/ }, () => ({ contents }));
}

/** Parts of prom-client that it loads and nobody here uses; by themselves they bring `node:http`, and a package for spans. */
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
