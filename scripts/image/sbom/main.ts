/**
 * Writes the bill of materials of a built image, as CycloneDX: `npm run sbom:image -- NAME [FILE]`. Fails if a file of the
 * image is in no component of it.
 */
import { writeFileSync } from "node:fs";
import { billOf } from "./of-image.ts";

const [name, file = "image.cdx.json"] = process.argv.slice(2);
if (name === undefined) fail("Usage: npm run sbom:image -- NAME [FILE]");
const { bill, files, unlisted, absent } = billOf(name);
if (unlisted.length > 0) fail(`${name} has files that no component accounts for: ${unlisted.join(", ")}`);
if (absent.length > 0) fail(`${name} lacks files that its bill of materials names: ${absent.join(", ")}`);
writeFileSync(file, `${JSON.stringify(bill)}\n`);
process.stdout.write(`${file}: ${bill.components.length} components account for ${files} files\n`);

function fail(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
