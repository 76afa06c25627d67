import { createHash } from "node:crypto";
import type { ConfigSurroundings } from "./surroundings.ts";

/** What a configuration was read from: by absolute path a fingerprint of the content, or why it could not be read. */
export type FilePrints = ReadonlyMap<string, string>;

type ReadFile = ConfigSurroundings["readFile"];

/** Reads as before, and notes for each file what came of it. */
export function notePrints(prints: Map<string, string>, readFile: ReadFile): ReadFile {
  return async (path) => {
    try {
      const content = await readFile(path);
      prints.set(path, printOf(content.bytes));
      return content;
    } catch (error) {
      prints.set(path, printOfFailure(error));
      throw error;
    }
  };
}

export function printOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function printOfFailure(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unreadable";
}
