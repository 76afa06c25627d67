import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import type { Node, SourceFile } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { BaseSequencer, createVitest, type Reporter, type TestSpecification } from "vitest/node";
import { print } from "../src/cli/terminal.ts";
import { listenForInterrupt } from "../testkit/interrupt.ts";
import { seededRandom } from "../testkit/seeded-random.ts";
import { readOptions as read, runCommand, seed, text, wholeNumber } from "./command-line.ts";

// `npm run mutants`: breaks the code at random places, one at a time, and lists the changes that no test has noticed. Changes that
// the compiler refuses do not count. It works in a copy of the project, and removes the copy.

const usage = "npm run mutants -- [--count 20] [--seed N] [--only src/orders/]";

/** The code that is broken, and the folders of test/promises that run after the unit tests that import the file. */
const parts: Readonly<Record<string, readonly string[]>> = {
  "src/adapters/http-client/": ["proxy", "egress", "pass-through"],
  "src/adapters/http-server/": ["proxy", "corpus", "callbacks", "pass-through", "process", "observability"],
  "src/callbacks/": ["callbacks"],
  "src/claims/": ["proxy", "callbacks"],
  "src/http/": ["proxy", "corpus"],
  "src/oauth/": ["proxy", "reload", "observability"],
  "src/orders/": ["proxy", "corpus", "observability"],
  "src/parameters/": ["proxy", "corpus", "callbacks"],
  "src/pass-through/": ["pass-through"],
  "src/serving/": ["proxy", "corpus", "observability"],
};

/** Pairs: each word is replaced by the other one of its pair. */
const words = ["<", "<=", ">", ">=", "===", "!==", "&&", "||", "+", "-", "true", "false"];

/** Longer than the tests of one mutant take on a busy machine. */
const longestRunMs = 300_000;

process.exitCode = await runCommand(readOptions, usage, run);

function readOptions(args: readonly string[], drawSeed: () => number) {
  return read(args, usage, { count: wholeNumber(1, 10_000, 20), seed: seed(drawSeed), only: text });
}

async function run({ count, seed, only = "src/" }: NonNullable<ReturnType<typeof readOptions>>): Promise<number> {
  const interrupt = listenForInterrupt();
  const random = seededRandom(seed);
  const mutants = findMutants(only).map((mutant) => ({ ...mutant, order: random() }));
  print(`${count} of ${mutants.length} places, --seed ${seed}`);
  const home = process.cwd();
  const folder = copyProject();
  process.chdir(folder);
  const tests = await openTests(interrupt);
  const survivors: string[] = [];
  let tried = 0;
  try {
    const culprit = await findKiller(tests, interrupt, only);
    if (culprit !== undefined) {
      print(interrupt.aborted ? `Ended by ${interrupt.reason}.` : `Nothing is broken yet, and this fails: ${culprit}.`);
      return 1;
    }
    for (const { file, name, source, original } of mutants.sort((a, b) => a.order - b.order)) {
      if (tried === count) break;
      writeFileSync(file, source);
      const killer = await findKiller(tests, interrupt, file);
      writeFileSync(file, original);
      tests.forget(file);
      if (interrupt.aborted) break;
      if (killer === "types") continue;
      tried++;
      print(`${(killer ?? "SURVIVED").padEnd(8)} ${name}`);
      if (killer === undefined) survivors.push(name);
    }
  } finally {
    await tests.close();
    process.chdir(home);
    rmSync(folder, { recursive: true, force: true });
  }
  print(["", `${survivors.length} of ${tried} noticed by no test:`, ...survivors].join("\n"));
  return 0;
}

/** Every place that can be broken, with the broken file. */
function findMutants(only: string) {
  const api = new API({ cwd: process.cwd() });
  const program = api.updateSnapshot({ openProject: "tsconfig.json" }).getProjects()[0]?.program;
  const mutants: Record<"file" | "name" | "source" | "original", string>[] = [];
  for (const file of Object.keys(parts).flatMap((part) => listFiles(part))) {
    const tree = file.startsWith(only) ? program?.getSourceFile(resolve(file)) : undefined;
    if (tree === undefined) continue;
    visit(tree, tree, (node, what, text) => {
      const before = tree.text.slice(0, node.getStart(tree));
      const line = before.split("\n").length;
      const name = `${file}:${line} ${what}: ${tree.text.split("\n")[line - 1]?.trim()}`;
      mutants.push({ file, name, source: before + text + tree.text.slice(node.end), original: tree.text });
    });
  }
  api.close();
  return mutants;
}

function visit(node: Node, tree: SourceFile, add: (node: Node, what: string, text: string) => void): void {
  if (is.isTypeNode(node) || is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return;
  const text = (piece: Node) => piece.getText(tree);
  // A comparison for equality is negated by its own pair below.
  const isEquality = (node: Node) => is.isBinaryExpression(node) && /^[!=]==$/.test(text(node.operatorToken));
  const negate = (condition: Node) =>
    isEquality(condition) || add(condition, "condition negated", `!(${text(condition)})`);
  if (is.isIfStatement(node)) negate(node.expression);
  if (is.isConditionalExpression(node)) negate(node.condition);
  const other = words[words.indexOf(text(node)) ^ 1];
  if (other !== undefined) add(node, `became ${other}`, other);
  if (is.isNumericLiteral(node)) add(node, "number plus one", `(${text(node)} + 1)`);
  if (is.isExpressionStatement(node) && !text(node).startsWith("super(")) add(node, "statement dropped", ";");
  if (is.isReturnStatement(node)) add(node, "return dropped", `void [${text(node).slice("return".length, -1)}];`);
  // A name of a property is no expression.
  const name = is.isPropertyAssignment(node) ? node.name : undefined;
  node.forEachChild((child) => child !== name && visit(child, tree, add));
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

/** One Vitest for all mutants: it transforms only the changed file again. */
async function openTests(interrupt: AbortSignal) {
  let hasFailed = false;
  const failures = new Map<string, number>();
  const longestMs = new Map<string, number>();
  /** The test files that have noticed most for their time go first. */
  const worth = ({ moduleId }: TestSpecification) =>
    (1 + (failures.get(moduleId) ?? 0)) / (longestMs.get(moduleId) ?? 1_000);
  const sequencer = class extends BaseSequencer {
    override sort = async (files: TestSpecification[]) => files.sort((one, other) => worth(other) - worth(one));
  };
  const note = (isFailure: boolean) => {
    if (!isFailure || hasFailed) return;
    hasFailed = true;
    void vitest.cancelCurrentRun("test-failure");
  };
  const reporter: Reporter = {
    onTestCaseResult: (test) => note(test.result().state === "failed"),
    onTestSuiteResult: (suite) => note(suite.state() === "failed"),
    onTestModuleEnd: (module) => {
      const { moduleId } = module;
      const isFailure = module.state() === "failed";
      if (isFailure) failures.set(moduleId, 1 + (failures.get(moduleId) ?? 0));
      longestMs.set(moduleId, Math.max(1, longestMs.get(moduleId) ?? 0, module.diagnostic().duration));
      note(isFailure);
    },
    onTestRunEnd: (_, errors) => note(errors.length > 0),
  };
  const project = ["unit", "promises"];
  const vitest = await createVitest("test", { watch: false, project, retry: 1, reporters: [reporter], silent: true });
  vitest.config.sequence.sequencer = sequencer;
  // A broken condition may make a loop endless: cancelled twice, Vitest ends its workers by force.
  const end = () => {
    note(true);
    void vitest.cancelCurrentRun("keyboard-input");
  };
  interrupt.addEventListener("abort", end);
  const all = await vitest.globTestSpecifications();
  const succeed = async (specifications: TestSpecification[]) => {
    if (interrupt.aborted || specifications.length === 0) return !interrupt.aborted;
    hasFailed = false;
    const timer = setTimeout(end, longestRunMs);
    await vitest.runTestSpecifications(specifications);
    clearTimeout(timer);
    return !hasFailed;
  };
  return {
    /** The file has changed: without this, Vite keeps the version that it has transformed. */
    forget: (path: string) => vitest.invalidateFile(resolve(path)),
    /** Whether the unit tests that import this file succeed; all of them if it is a folder. */
    async units(path: string) {
      this.forget(path);
      if (path.endsWith(".ts")) vitest.config.related = [resolve(path)];
      const related = await vitest.getRelevantTestSpecifications();
      return succeed(related.filter(({ project }) => project.name === "unit"));
    },
    promises(folders: ReadonlySet<string>) {
      const isMeant = ({ project, moduleId }: TestSpecification) =>
        project.name === "promises" && folders.has(`${dirname(relative(".", moduleId))}/`);
      return succeed(all.filter(isMeant));
    },
    close: () => vitest.close(),
  };
}

/** The first of compiler, unit tests and promises of that path to fail, also when tried again; undefined if none fails. */
async function findKiller(tests: Awaited<ReturnType<typeof openTests>>, interrupt: AbortSignal, path: string) {
  const meant = Object.entries(parts).filter(([part]) => path.startsWith(part) || part.startsWith(path));
  const folders = new Set(meant.flatMap(([, names]) => names.map((name) => `test/promises/${name}/`)));
  const compile = [
    "--noEmit",
    "-p",
    "tsconfig.json",
    "--incremental",
    "--tsBuildInfoFile",
    "node_modules/.tsbuildinfo",
  ];
  if (!(await succeeds("node_modules/.bin/tsc", compile, interrupt))) return "types";
  if (!(await tests.units(path))) return "unit";
  // For promises that start the command.
  if (!(await succeeds(process.execPath, ["scripts/build.mjs", "--if-stale"], interrupt))) return "build";
  return (await tests.promises(folders)) ? undefined : "promises";
}

async function succeeds(program: string, args: readonly string[], signal: AbortSignal) {
  const child = spawn(program, args, { stdio: "ignore", signal }).on("error", () => {});
  const [status] = await once(child, "close");
  return status === 0;
}
