import { Command, CommanderError } from "commander";
import { describeDefect } from "../model/defect.ts";
import { version } from "../version.ts";
import { CommandFailure, type CommandFile, exitCodes } from "./command.ts";
import { orLeftOut } from "./left-out.ts";
import { exitOnSignalsAsPidOne } from "./signals.ts";
import { printError } from "./terminal.ts";

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

/** Every command, for the reference in the README. */
export async function createCommands(): Promise<Command[]> {
  const files = await Promise.all(Object.values(commands).map((load) => load()));
  return files.map(({ createCommand }) => createCommand());
}

/**
 * Runs one command line.
 * @returns the exit code: 0 yes, 1 no, 2 usage or configuration, 70 a defect
 */
export async function run(args: readonly string[]): Promise<number> {
  // Without a handler it opens Node's inspector, through which every process in the pod could read every secret.
  process.on("SIGUSR1", () => {});
  exitOnSignalsAsPidOne();
  const program = new Command("countersign")
    .description("Outbound, auth-injecting HTTP sidecar: plain JSON in, signed or authorised requests out.")
    .version(version)
    .exitOverride();
  // The reader of the output has closed it, as `head` and `less` do.
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
  if ((error as NodeJS.ErrnoException).code === "EMFILE") {
    printError("Countersign cannot start: it may open too few files. Raise ulimit -n, to 1024 at least.");
    return exitCodes.usage;
  }
  printError(`A defect in countersign: ${describeDefect(error)}`);
  return exitCodes.defect;
}
