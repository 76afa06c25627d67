import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { canariesIn } from "./canaries.ts";

/** The ways by which a text leaves the product. */
export const outlets = [
  "stdout",
  "stderr",
  "event",
  "log line",
  "failure answer",
  "admin or status page",
  "Redis",
  "spans",
] as const;
export type Outlet = (typeof outlets)[number];

/** A canary found where it must not be. Never contains its value. */
export interface Sighting {
  readonly outlet: Outlet;
  readonly canary: string;
  /** The test file, and the name of the test during which the canary came out. */
  readonly file: string;
  readonly test: string;
}

/** Environment variable with the folder for the sightings; testkit/leaks/watch.ts sets it for a whole run. */
export const folderVariable = "COUNTERSIGN_TEST_SIGHTINGS";

const noted = new Set<string>();

/**
 * Searches an output at once, so that nothing needs to be kept; a sighting fails the run at its end. Each worker
 * writes its own file.
 */
export function searchOutflow(outlet: Outlet, text: string): void {
  const folder = process.env[folderVariable];
  if (folder === undefined) return;
  note(folder, { heard: outlet });
  for (const canary of canariesIn(text)) {
    const { testPath = "outside the tests", currentTestName = "" } = expect.getState();
    note(folder, { outlet, canary, file: testPath, test: currentTestName } satisfies Sighting);
  }
}

/** For a stream: whole lines are searched, so that no canary hides between two chunks. */
export function searchStream(outlet: Outlet): { readonly take: (chunk: string) => void; readonly end: () => void } {
  let rest = "";
  return {
    take(chunk) {
      const text = rest + chunk;
      const end = text.lastIndexOf("\n") + 1;
      rest = text.slice(end);
      if (end > 0) searchOutflow(outlet, text.slice(0, end));
    },
    end() {
      if (rest !== "") searchOutflow(outlet, rest);
      rest = "";
    },
  };
}

/** Searches Countersign's own answers among the bytes of a connection. */
export function searchAnswers(bytes: string): void {
  for (const answer of bytes.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    if (/^countersign-error:/im.test(answer)) searchOutflow("failure answer", answer);
  }
}

function note(folder: string, what: Sighting | { readonly heard: Outlet }): void {
  const line = `${JSON.stringify(what)}\n`;
  if (noted.has(folder + line)) return;
  noted.add(folder + line);
  appendFileSync(join(folder, `${process.pid}.jsonl`), line);
}
