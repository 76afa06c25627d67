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

/** Makes the pause before the fifth scene a minute long, so that a test can interrupt the demo in it without a race. */
export const slowly = preload(
  "const { setTimeout: real } = globalThis; globalThis.setTimeout = (task, ms) => real(task, ms === 1000 ? 60000 : ms)",
);

/** The demo's folder for its configuration, as its output names it. */
export function folderOf(output: string): string {
  const [, file] = /^ {3}configured in +(\S+)$/m.exec(output) ?? [];
  if (file === undefined) throw new Error(`no configuration file is named in:\n${output}`);
  return dirname(file);
}

/** Texts that no output may contain. Tokens of the simulator are called token_1, token_2, … */
export const secrets: readonly RegExp[] = [
  /token_\d/,
  /Bearer (?!••••)/,
  ...exampleSites.flatMap(({ credentials = [], keys = [] }) =>
    [...credentials.map(({ clientSecret }) => clientSecret), ...keys.map(({ secret }) => secret)].map(
      (secret) => new RegExp(secret),
    ),
  ),
];

/** Whether a server listens there. */
export function isOpen(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const probe = connect(Number(port), hostname);
    probe.on("connect", () => resolve(true)).on("error", () => resolve(false));
    probe.on("connect", () => probe.destroy());
  });
}
