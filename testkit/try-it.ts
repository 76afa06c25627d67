import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { ConfigWriter } from "./config-writer.ts";
import { freePort } from "./free-port.ts";
import { plainEnvironment, startProgram } from "./run-program.ts";

/** A part of a page that its reader types into a shell. */
export interface TryIt {
  readonly page: string;
  readonly heading: string;
  /** Texts that the shell and its jobs print, with the page's ports. */
  readonly prints: readonly (RegExp | string)[];
}

/** The folder of the command and the examples: this checkout, or an installed package. */
const home = process.env["COUNTERSIGN_PACKAGE"] ?? process.cwd();
/** The ports of pages and examples. */
const shown = ["3128", "4318", "6379", "7411", "7412", "7413", "7414", "7415", "7421", "7422", "8080"];

/** Types the commands of the part into a shell in an empty folder, on other ports, from the first to the command that ends all jobs. */
export async function follow({ page, heading, prints }: TryIt): Promise<void> {
  const blocksIn = blocksOf(page, heading);
  const typed = blocksIn("sh").join("");
  const jobs = typed.split("\n").filter((line) => line.endsWith(" &"));
  const [, ended = ""] = /\n(kill .*?)(?: {3}#.*)?\n$/.exec(typed) ?? [];
  expect(new Set(ended.match(/%\d/g))).toEqual(new Set(jobs.map((_, index) => `%${index + 1}`)));
  expect(typed).toContain("umask 077");

  const folder = new ConfigWriter("try-it");
  onTestFinished(() => folder.remove());
  const ports = new Map<string, string>();
  for (const port of shown) ports.set(port, String(await freePort()));
  const elsewhere = (text: string) => text.replace(/\b\d{4}\b/g, (port) => ports.get(port) ?? port);
  for (const [, topic = ""] of typed.matchAll(/"\$EXAMPLES"\/([\w-]+)\//g)) {
    for (const name of readdirSync(join(home, "examples", topic))) {
      const text = readFileSync(join(home, "examples", topic, name), "utf8");
      folder.write(join("examples", topic, name), elsewhere(text));
    }
  }
  if (!typed.includes("$EXAMPLES")) folder.write("countersign.yaml", elsewhere(blocksIn("yaml")[0] ?? ""));

  // The script runs with job control (`set -m`), as a shell does in which a person types.
  folder.write("bin/countersign", `#!/bin/sh\nexec node '${join(home, "dist/main.js")}' "$@"\n`, 0o700);
  // Each job prints into a separate file, since a line of it could otherwise appear in the middle of an answer.
  const apart = elsewhere(typed).replace(/^(?=.* &$)/gm, ">>'%JOBS' 2>&1 ");
  const printedByJobs = join(folder.path, "jobs.log");
  const [ready] = /^ready\(\) .*$/m.exec(readFileSync("docs/install.md", "utf8")) ?? [];
  const script = `set -m; cd '${folder.path}'; EXAMPLES=$PWD/examples PATH=$PWD/bin:$PATH\n${ready}\n${apart.replaceAll("%JOBS", printedByJobs)}\nwait`;
  const shell = startProgram("bash", ["-c", script], plainEnvironment());
  await shell.ended;
  const own = new Map([...ports].map(([port, other]) => [other, port]));
  const jobsPrinted = jobs.length > 0 ? readFileSync(printedByJobs, "utf8") : "";
  const printed = `${shell.stdout()}\n${shell.stderr()}\n${jobsPrinted}`.replace(
    /\b\d{5}\b/g,
    (port) => own.get(port) ?? port,
  );
  for (const pattern of [...prints, ...blocksIn("").flatMap(linesShown)]) expect(printed).toMatch(pattern);
  expect(printed).not.toMatch(/configuration_warned|^ *warn(ing)?\b|not found|No such|curl: \(|SyntaxError/im);
}

/** A pattern for each line of output that a page shows; `…` stands for any text. */
function linesShown(block: string): RegExp[] {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const lines = block.split("\n").filter((line) => line !== "" && line !== "…");
  return lines.map((line) => new RegExp(`^${line.split("…").map(escaped).join(".*")}$`, "m"));
}

/** The blocks of a part of a page, by their language; those without one show output. */
function blocksOf(page: string, heading: string) {
  const [, part = ""] = new RegExp(`^## ${heading}$(.*?)^## `, "ms").exec(readFileSync(page, "utf8")) ?? [];
  const blocks = [...part.matchAll(/^```(\w*)\n(.*?)^```$/gms)];
  return (language: string) => blocks.filter(([, of]) => of === language).map(([, , text = ""]) => text);
}

/** Types the commands before the first job twice: the second time the page's folder is there, so nothing may be written. */
export function expectChain(page: string): void {
  const heading = page === "docs/tokens.md" ? "Outage bridge" : "Try it";
  const [typed = ""] = blocksOf(
    page,
    heading,
  )("sh")
    .join("")
    .split(/^.* &$/m);
  const folder = new ConfigWriter("chain");
  onTestFinished(() => folder.remove());
  folder.write("bin/countersign", `#!/bin/sh\nexec node '${join(home, "dist/main.js")}' "$@"\n`, 0o700);
  const preparation = `cd '${folder.path}'; EXAMPLES='${join(home, "examples")}' PATH=$PWD/bin:$PATH\n${typed}`;
  const type = () => spawnSync("bash", ["-c", preparation], { encoding: "utf8", env: plainEnvironment() });
  expect(type()).toMatchObject({ status: 0 });
  const above = () => readdirSync(folder.path).sort();
  expect(above()).toEqual(["bin", /^mkdir -p ([\w-]+) /.exec(typed)?.[1]].sort());
  expect(type().stderr).toMatch(/^$|token-key/);
  expect(above()).toHaveLength(2);
}
