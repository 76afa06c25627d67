import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { readDescriptorLimit } from "../app/process-limits.ts";
import { describeDefect } from "../model/defect.ts";
import { version } from "../version.ts";
import { CommandFailure, type CommandFile, exitCodes } from "./command.ts";
import { orLeftOut } from "./left-out.ts";
import { endOnSignalsAsPidOne } from "./pid-one.ts";
import { printError } from "./terminal.ts";

/** With fewer, not even the program's own files may be open at once. */
const leastDescriptors = 1_024;

/** Loaded only when it is called, so that `serve` starts without the others' dependencies. */
const commands: Readonly<Record<string, () => Promise<CommandFile>>> = {
  serve: () => import("./serve.ts"),
  check: () => import("./check.ts"),
  doctor: () => import("./doctor.ts"),
  health: () => import("./health.ts"),
  sign: () => import("./sign.ts"),
  verify: () => import("./verify.ts"),
  preview: () => import("./preview.ts"),
  token: () => import("./token.ts"),
  keygen: () => import("./keygen.ts"),
  schema: () => import("./schema.ts"),
  inject: () => import("./inject.ts"),
  simulate: orLeftOut("simulate", () => import("./simulate.ts")),
  demo: orLeftOut("demo", () => import("./demo.ts")),
};

/** Every command, for the README's reference. */
export async function createCommands(): Promise<Command[]> {
  const files = await Promise.all(Object.values(commands).map((load) => load()));
  return files.map(({ createCommand }) => createCommand());
}

/**
 * Runs one command line.
 * @returns the exit code: 0 yes, 1 no, 2 usage or configuration, 70 a defect
 */
export async function run(args: readonly string[]): Promise<number> {
  // Unheard, it opens Node's inspector, through which everybody in the pod could read every secret (before any await).
  process.on("SIGUSR1", () => {});
  endOnSignalsAsPidOne();
  const program = new Command("countersign")
    .description("Outbound, auth-injecting HTTP sidecar: plain JSON in, signed or authorised requests out.")
    .version(version)
    .exitOverride();
  // The reader of our output has seen enough, as `head` and `less` have.
  process.stdout.on("error", () => process.exit(exitCodes.no));
  try {
    const wanted = commands[args[0] ?? ""];
    const loaders = wanted === undefined ? Object.values(commands) : [wanted];
    for (const load of loaders) {
      const { createCommand } = await load();
      program.addCommand(createCommand().copyInheritedSettings(program));
    }
    await program.parseAsync([...args], { from: "user" });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    return explainExit(error);
  }
}

function explainExit(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (error instanceof CommandFailure) {
    printError(error.message);
    return error.exitCode;
  }
  if (hasTooFewDescriptors(error)) {
    printError(
      `Countersign cannot start: it may open too few files. Raise ulimit -n, to ${leastDescriptors} at least.`,
    );
    return exitCodes.usage;
  }
  printError(`A defect in countersign: ${describeDefect(error)}`);
  return exitCodes.defect;
}

/** Where Node cannot open a file of a package, it may call the package missing. */
function hasTooFewDescriptors(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ERR_MODULE_NOT_FOUND") return code === "EMFILE";
  try {
    const limit = readDescriptorLimit(readFileSync("/proc/self/limits", "utf8"));
    return limit !== undefined && limit < leastDescriptors;
  } catch (unreadable) {
    return (unreadable as NodeJS.ErrnoException).code === "EMFILE";
  }
}
