import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder } from "./empty-folder.ts";

/**
 * Finds the scripts that a Node process loads: an environment to start it with, and the scripts' URLs once it has ended by itself.
 * V8's coverage at the end lists each script, ES module or not, without a hook in the process.
 */
export function watchScripts(): { readonly env: Record<string, string>; loaded(): string[] } {
  const folder = emptyFolder();
  return {
    env: { NODE_V8_COVERAGE: folder },
    loaded() {
      const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
      return reports.flatMap(({ result }) => result.map(({ url }: { url: string }) => url));
    },
  };
}
