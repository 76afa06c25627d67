import { readFileSync } from "node:fs";

/** The package's version; package.json stands one folder above both the sources and the built files. */
export const version: string = readVersion();

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return String(version);
}
