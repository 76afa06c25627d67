import { cpSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder } from "./empty-folder.ts";

/** The built command as in the proxy's image: in a folder from which Node finds no package. Returns its main file. */
export function bundle(): string {
  const folder = emptyFolder();
  for (const name of ["main.js", "bundled", "third-party-licenses.txt"]) {
    cpSync(join("dist", name), join(folder, "dist", name), { recursive: true });
  }
  cpSync("package.json", join(folder, "package.json"));
  return join(folder, "dist", "main.js");
}
