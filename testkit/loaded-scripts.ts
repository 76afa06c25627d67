import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder } from "./empty-folder.ts";

/**
 * What a Node process loads: an environment to start it with, and the URLs of its scripts once it has ended by itself. The
 * coverage that V8 writes at the end names each, ES module or not, without a hook in the process.
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
