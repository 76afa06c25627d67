import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Node, SourceFile } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { print } from "../src/cli/terminal.ts";
import { listenForInterrupt } from "../testkit/interrupt.ts";
import { seededRandom } from "../testkit/seeded-random.ts";
import { readOptions as read, runCommand, seed, text, wholeNumber } from "./command-line.ts";

// `npm run mutants`: breaks the code at random places, one at a time, and lists the changes that no test has noticed. It works in a
// copy of the project, and removes the copy.

const usage = "npm run mutants -- [--count 20] [--seed N] [--only src/orders/]";

/** The code that is broken, and the folders of test/promises that run after the unit tests that import the file. */
const parts: Readonly<Record<string, readonly string[]>> = {
  "src/adapters/http-client/": ["proxy", "egress", "pass-through"],
  "src/adapters/http-server/": ["proxy", "corpus", "callbacks", "pass-through", "process", "observability"],
  "src/callbacks/": ["callbacks"],
  "src/http/": ["proxy", "corpus"],
  "src/oauth/": ["proxy", "reload", "observability"],
  "src/orders/": ["proxy", "corpus", "observability"],
  "src/parameters/": ["proxy", "corpus", "callbacks"],
  "src/pass-through/": ["pass-through"],
  "src/serving/": ["proxy", "corpus", "observability"],
};

/** Pairs: each word is replaced by the other one of its pair. */
const words = ["<", "<=", ">", ">=", "===", "!==", "&&", "||", "+", "-", "true", "false"];

/** The tests' output is shown until it is clear that nothing fails without a break. */
let stdio: "inherit" | "ignore" = "inherit";

process.exitCode = await runCommand(readOptions, usage, run);

function readOptions(args: readonly string[], drawSeed: () => number) {
  return read(args, usage, { count: wholeNumber(1, 10_000, 20), seed: seed(drawSeed), only: text });
}

async function run({ count, seed, only = "src/" }: NonNullable<ReturnType<typeof readOptions>>): Promise<number> {
  const interrupt = listenForInterrupt();
  const random = seededRandom(seed);
  const mutants = findMutants(only).map((mutant) => ({ ...mutant, order: random() }));
  print(`${count} of ${mutants.length} places, --seed ${seed}`);
  const folder = copyProject();
  const survivors: string[] = [];
  try {
    const culprit = await findKiller(folder, interrupt, only, ["run"]);
    if (culprit !== undefined) {
      print(interrupt.aborted ? `Ended by ${interrupt.reason}.` : `Nothing is broken yet, and this fails: ${culprit}.`);
      return 1;
    }
    stdio = "ignore";
    for (const { file, name, source } of mutants.sort((a, b) => a.order - b.order).slice(0, count)) {
      writeFileSync(join(folder, file), source);
      const killer = await findKiller(folder, interrupt, file, ["related", "--run", file]);
      cpSync(file, join(folder, file));
      if (interrupt.aborted) break;
      print(`${(killer ?? "SURVIVED").padEnd(8)} ${name}`);
      if (killer === undefined) survivors.push(name);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  print(["", `${survivors.length} noticed by no test:`, ...survivors].join("\n"));
  return 0;
}

/** Every place that can be broken, with the broken file. */
function findMutants(only: string) {
  const api = new API({ cwd: process.cwd() });
  const program = api.updateSnapshot({ openProject: "tsconfig.json" }).getProjects()[0]?.program;
  const mutants: Record<"file" | "name" | "source", string>[] = [];
  for (const file of Object.keys(parts).flatMap((part) => listFiles(part))) {
    const tree = file.startsWith(only) ? program?.getSourceFile(resolve(file)) : undefined;
    if (tree === undefined) continue;
    visit(tree, tree, (node, what, text) => {
      const before = tree.text.slice(0, node.getStart(tree));
      const line = before.split("\n").length;
      const name = `${file}:${line} ${what}: ${tree.text.split("\n")[line - 1]?.trim()}`;
      mutants.push({ file, name, source: before + text + tree.text.slice(node.end) });
    });
  }
  api.close();
  return mutants;
}

function visit(node: Node, tree: SourceFile, add: (node: Node, what: string, text: string) => void): void {
  if (is.isTypeNode(node) || is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return;
  const text = (piece: Node) => piece.getText(tree);
  const negate = (condition: Node) => add(condition, "condition negated", `!(${text(condition)})`);
  if (is.isIfStatement(node)) negate(node.expression);
  if (is.isConditionalExpression(node)) negate(node.condition);
  const other = words[words.indexOf(text(node)) ^ 1];
  if (other !== undefined) add(node, `became ${other}`, other);
  if (is.isNumericLiteral(node)) add(node, "number plus one", `(${text(node)} + 1)`);
  if (is.isExpressionStatement(node) && !text(node).startsWith("super(")) add(node, "statement dropped", ";");
  if (is.isReturnStatement(node)) add(node, "return dropped", `void [${text(node).slice("return".length, -1)}];`);
  node.forEachChild((child) => visit(child, tree, add));
}

/** The project as it is here, uncommitted changes included, with the packages that are installed here. */
function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-mutants-"));
  execFileSync("git", ["clone", "--quiet", ".", folder]);
  for (const path of listFiles("--modified", "--others", "--exclude-standard")) {
    rmSync(join(folder, path), { force: true });
    if (existsSync(path)) cpSync(path, join(folder, path));
  }
  cpSync("node_modules", join(folder, "node_modules"), { recursive: true, verbatimSymlinks: true });
  return folder;
}

function listFiles(...which: string[]): string[] {
  return String(execFileSync("git", ["ls-files", "-z", ...which]))
    .split("\0")
    .filter(Boolean);
}

/** The first of unit tests, compiler and promises of that path to fail, also when tried again; undefined if none fails. */
async function findKiller(folder: string, interrupt: AbortSignal, path: string, unit: readonly string[]) {
  const meant = Object.entries(parts).filter(([part]) => path.startsWith(part) || part.startsWith(path));
  const promises = new Set(meant.flatMap(([, names]) => names.map((name) => `test/promises/${name}/`)));
  const soon = ["--bail", "1", "--retry", "1", "--passWithNoTests"];
  const steps: [name: string, program: string, ...args: string[]][] = [
    ["unit", "vitest", ...unit, "--project", "unit", ...soon],
    ["types", "tsc", "--noEmit", "-p", "tsconfig.json"],
    ["promises", "vitest", "run", "--project", "promises", ...soon, ...promises],
  ];
  for (const [name, program, ...args] of steps) {
    if (!(await succeeds(folder, program, args, interrupt))) return name;
  }
  return undefined;
}

/** Runs in its own process group, which ends as a whole. */
async function succeeds(cwd: string, program: string, args: readonly string[], interrupt: AbortSignal) {
  if (interrupt.aborted) return false;
  const child = spawn(join("node_modules/.bin", program), args, { cwd, stdio, detached: true });
  const end = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  // A broken condition may make a loop endless.
  const timer = setTimeout(end, 600_000);
  interrupt.addEventListener("abort", end);
  const [status] = await once(child, "close");
  clearTimeout(timer);
  interrupt.removeEventListener("abort", end);
  return status === 0;
}
