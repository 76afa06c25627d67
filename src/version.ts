import { readFileSync } from "node:fs";

interface Manifest {
  readonly version: string;
  readonly homepage?: string | undefined;
}

/** package.json is one folder above both the sources and the built files. */
const manifest: Manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** The package's version. */
export const version: string = manifest.version;

/** The address of this version's README.md. The first release adds it to package.json; absent until then. */
export const homepage: string | undefined = manifest.homepage;
