/**
 * The Dockerfile's step: writes the bill of materials of an image that is being put together.
 * Usage: make.ts BASE_NAME BASE RUNTIME OWN BUNDLED; folders, and the bundler's list of packages.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { billPath, makeBill } from "./bill.ts";

const [baseName = "", base = "", runtime = "", own = "", bundled = ""] = process.argv.slice(2);
const read = (file: string | URL) => JSON.parse(readFileSync(file, "utf8"));
const { name, version, description } = read(join(own, "app/package.json"));
const { packages: locked } = read(new URL("../package-lock.json", import.meta.url));

const bill = makeBill({
  ...{ name, version, description, baseName, base, runtime, own, locked },
  bundled: read(bundled),
  versions: process.versions,
});
const file = join(own, billPath);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(bill)}\n`);
