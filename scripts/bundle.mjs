// Makes few files of a program: they need no node_modules, and the licences of what is in them lie beside them.
// Most of a start goes into finding and opening files; this takes a process half as long to listen.
// Usage: node scripts/bundle.mjs FOLDER   (the proxy as its image holds it, from dist/)
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: node scripts/bundle.mjs FOLDER");
  await bundle(["dist/main.js"], folder);
}

/** @param entries files of the program; the one called main is its command */
export async function bundle(entries, folder) {
  const { metafile } = await build({
    entryPoints: entries,
    outdir: folder,
    bundle: true,
    // A command's code stays in files of its own, which no other command loads.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // countersign from its sources, which the simulator imports by the package's name.
    conditions: ["source"],
    // A defect is told by the names of its class and its functions.
    keepNames: true,
    metafile: true,
    // What only development has.
    external: ["supports-color"],
    // Packages of the old module system ask for Node's own modules so.
    banner: {
      js: 'import { createRequire as toRequire } from "node:module"; const require = toRequire(import.meta.url);',
    },
  });
  chmodSync(join(folder, "main.js"), 0o755);
  const bundled = Object.keys(metafile.inputs).flatMap(
    (path) => /^node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  const licences = [...new Set(bundled)].sort().map((name) => `${name}\n\n${licenceOf(name)}`);
  writeFileSync(join(folder, "third-party-licenses.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
}

function licenceOf(name) {
  const home = join("node_modules", name);
  const file = readdirSync(home).find((each) => /^licen[cs]e/i.test(each));
  if (file !== undefined) return readFileSync(join(home, file), "utf8");
  const { license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return `${license}\n`;
}
