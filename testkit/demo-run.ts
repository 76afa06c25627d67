import { connect } from "node:net";
import { dirname } from "node:path";
import { exampleSites } from "../simulator/src/example-sites.ts";
import { plainEnvironment, startProgram } from "./run-program.ts";

/** The built command, as `npm run demo` starts it. */
export function startDemo(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return startProgram(process.execPath, ["simulator/dist/main.js", "demo", ...args], plainEnvironment(env));
}

/** Node's options for a program that runs this module first. */
export function preload(code: string): string {
  return `--import "data:text/javascript,${encodeURIComponent(code)}"`;
}

/** The rest before the fifth scene takes a minute, so that it is no race to interrupt the demo there. */
export const slowly = preload(
  "const { setTimeout: real } = globalThis; globalThis.setTimeout = (task, ms) => real(task, ms === 1000 ? 60000 : ms)",
);

/** Where the demo keeps its configuration, by its own words. */
export function folderOf(output: string): string {
  const [, file] = /^ {3}configured in +(\S+)$/m.exec(output) ?? [];
  if (file === undefined) throw new Error(`no configuration file is named in:\n${output}`);
  return dirname(file);
}

/** What may never be read anywhere. Tokens of the simulator are called token_1, token_2, … */
export const secrets: readonly RegExp[] = [
  /token_\d/,
  /Bearer (?!••••)/,
  ...exampleSites.flatMap(({ credentials = [], keys = [] }) =>
    [...credentials.map(({ clientSecret }) => clientSecret), ...keys.map(({ secret }) => secret)].map(
      (secret) => new RegExp(secret),
    ),
  ),
];

/** Whether anyone listens there. */
export function isOpen(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const probe = connect(Number(port), hostname);
    probe.on("connect", () => resolve(true)).on("error", () => resolve(false));
    probe.on("connect", () => probe.destroy());
  });
}
