import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * What a Node process loads: an environment to start it with, and the URLs of its scripts once it has ended by itself. The
 * coverage that V8 writes at the end names each, ES module or not, without a hook in the process.
 */
export function watchScripts(): { readonly env: Record<string, string>; loaded(): string[] } {
  const folder = mkdtempSync(join(tmpdir(), "countersign-scripts-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return {
    env: { NODE_V8_COVERAGE: folder },
    loaded() {
      const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
      return reports.flatMap(({ result }) => result.map(({ url }: { url: string }) => url));
    },
  };
}
