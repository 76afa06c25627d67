// Writes npm's bill of materials of the packages in production, as CycloneDX: node scripts/sbom.mjs [FILE]. The images carry it too.
//
// `npm sbom --omit dev` leaves out packages that both production and development need (npm 11.19: undici, commander and
// yaml). So npm reads the lockfile without the packages of development, and its bill is compared with that.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const target = process.argv[2] ?? "sbom.cdx.json";
const { devDependencies: _, workspaces: __, ...manifest } = read("package.json");
const lockfile = read("package-lock.json");
const { devDependencies: ___, workspaces: ____, ...root } = lockfile.packages[""];
const packages = Object.entries(lockfile.packages).filter(
  ([path, { dev, link }]) => path.startsWith("node_modules/") && dev !== true && link !== true,
);

const scratch = mkdtempSync(join(tmpdir(), "countersign-sbom-"));
// npm calls the component by its folder's name.
const folder = join(scratch, manifest.name);
mkdirSync(folder);
write(join(folder, "package.json"), manifest);
write(join(folder, "package-lock.json"), {
  ...lockfile,
  packages: Object.fromEntries([["", root], ...packages]),
});
const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx", "--sbom-type", "application"];
const { status, stdout, stderr } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" });
rmSync(scratch, { recursive: true });
if (status !== 0) fail(`npm sbom failed:\n${stderr}`);

const bill = JSON.parse(stdout);
// The same lockfile makes the same bill, and so the same layer of an image.
delete bill.serialNumber;
delete bill.metadata.timestamp;
const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
const wanted = packages.map(([path, { version }]) => `${path.split("node_modules/").at(-1)}@${version}`);
const missing = wanted.filter((name) => !listed.includes(name));
if (missing.length > 0) fail(`npm sbom left out ${missing.join(", ")}`);
write(target, bill);
process.stdout.write(`${target}: ${listed.length} packages\n`);

function read(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function write(file, value) {
  writeFileSync(file, JSON.stringify(value));
}

function fail(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
