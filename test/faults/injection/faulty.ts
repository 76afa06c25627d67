import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { instrument, type Point } from "./instrument.ts";

/** Where failures are put: whatever serves. The rest is commands for people, `doctor`'s adapters, and the simulator. */
const instrumented = [
  /^(adapters|proxy|callbacks|oauth|tracing|app)\//,
  /^cli\/(serve|signals|command)\.js$/,
  /^config\/(load|files\/(folder-)?watch|rules\/site-folder)\.js$/,
];
const forPeople = /^adapters\/redis\/probe\.js$/;

/** The built command with a question at every point. */
export interface Faulty {
  readonly main: string;
  readonly runtime: string;
  readonly points: readonly Point[];
}

/** Copies the build and instruments the copy, which goes away with the test. */
export function buildFaulty(): Faulty {
  const folder = emptyFolder();
  const points: Point[] = [];
  const take = (point: Omit<Point, "id">) => points.push({ id: points.length, ...point }) - 1;
  cpSync("dist", join(folder, "dist"), { recursive: true });
  cpSync("package.json", join(folder, "package.json"));
  cpSync(join(import.meta.dirname, "runtime.mjs"), join(folder, "runtime.mjs"));
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  const names = readdirSync(join(folder, "dist"), { recursive: true, encoding: "utf8" }).sort();
  for (const name of names.filter(isInstrumented)) {
    const file = join(folder, "dist", name);
    writeFileSync(file, instrument(readFileSync(file, "utf8"), name, take));
  }
  return { main: join(folder, "dist/unbundled.js"), runtime: join(folder, "runtime.mjs"), points };
}

function isInstrumented(name: string): boolean {
  return name.endsWith(".js") && instrumented.some((part) => part.test(name)) && !forPeople.test(name);
}
