import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { readDescriptorLimit } from "../app/process-limits.ts";
import { type Clock, systemClock } from "../model/clock.ts";
import { describeDefect } from "../model/defect.ts";
import { version } from "../version.ts";
import { CommandFailure, exitCodes } from "./command.ts";
import { printError } from "./terminal.ts";

/** With fewer file descriptors, the program cannot even open all of its own files. */
const leastDescriptors = 1_024;

/** A program of several commands. */
export interface Program {
  readonly name: string;
  readonly description: string;
  /** Printed below the list of commands. */
  readonly notes?: string;
  /** The commands by name; each is loaded only when it is called, and created anew, so that runs share nothing. */
  readonly commands: Readonly<Record<string, () => Promise<Command>>>;
}

/**
 * Runs one command line.
 * @returns the exit code: 0 yes, 1 no, 2 usage or configuration, 70 a defect
 */
export async function runProgram(
  { name, description, notes, commands }: Program,
  args: readonly string[],
): Promise<number> {
  // Without a handler SIGUSR1 opens Node's inspector, through which every process in the pod could read every secret.
  process.on("SIGUSR1", () => {});
  const program = new Command(name).description(description).version(version).exitOverride();
  if (notes !== undefined) program.addHelpText("after", `\n${notes}`);
  // A reader that has closed the pipe, as `head` and `less` do, has seen enough.
  process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
    process.exit(code === "EPIPE" ? (process.exitCode ?? exitCodes.ok) : exitCodes.no);
  });
  // What cannot be said changes no exit code.
  process.stderr.on("error", () => {});
  try {
    const named = args[0] === "help" ? args[1] : args[0];
    const isUnknown = named !== undefined && !/^-|^help$/.test(named) && !Object.hasOwn(commands, named);
    const wanted = Object.entries(commands).find(([command]) => command === args[0])?.[1];
    const loaders = wanted === undefined ? Object.values(commands) : [wanted];
    for (const load of loaders) {
      const command = (await load()).copyInheritedSettings(program);
      askForMandatoryLast(command);
      program.addCommand(command);
    }
    // Commander would print the general help, also for `nonsense --help`.
    await program.parseAsync(isUnknown ? [named] : [...args], { from: "user" });
    return Number(process.exitCode ?? exitCodes.ok);
  } catch (error) {
    const { code } = error as CommanderError;
    const hasConfig = program.commands.some(({ options }) => options.some(({ long }) => long === "--config"));
    if (code === "commander.excessArguments" && hasConfig) printError("A configuration is named by --config.");
    return explainExit(error, name);
  }
}

/** Signals within this time are one: a process group and a wrapper may both deliver it. */
const oneStopMs = 1_000;

/** The wish that the process end. */
export interface Stop {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>;
  /** Resolves with a signal that is a second one, and not the first one delivered twice. */
  readonly second: Promise<void>;
}

/** @param onStop calls its listener at each SIGTERM, or SIGINT from Ctrl-C */
export function followStop(onStop: (listener: (signal: NodeJS.Signals) => void) => void, clock: Clock): Stop {
  let firstMs: number | undefined;
  let isFirst = (_: NodeJS.Signals) => {};
  let isSecond = () => {};
  const stop = {
    first: new Promise<NodeJS.Signals>((resolve) => {
      isFirst = resolve;
    }),
    second: new Promise<void>((resolve) => {
      isSecond = resolve;
    }),
  };
  onStop((signal) => {
    const nowMs = clock.nowMs();
    if (firstMs === undefined) isFirst(signal);
    else if (nowMs - firstMs > oneStopMs) isSecond();
    firstMs ??= nowMs;
  });
  return stop;
}

/** Resolves with the first signal to stop. A second one exits immediately. */
export function untilStopped(): Promise<NodeJS.Signals> {
  const onStop = (listener: (signal: NodeJS.Signals) => void) => {
    process.on("SIGTERM", listener).on("SIGINT", listener);
  };
  const { first, second } = followStop(onStop, systemClock);
  void second.then(() => process.exit(exitCodes.no));
  return first;
}

/** By default Commander reports a missing `--config` before an unknown `--confg`, which may be the reason. */
function askForMandatoryLast(command: Command): void {
  const mandatory = command.options.filter((option) => option.mandatory);
  for (const option of mandatory) option.mandatory = false;
  command.hook("preAction", () => {
    const missing = mandatory.find((option) => command.getOptionValue(option.attributeName()) === undefined);
    if (missing !== undefined) command.error(`error: required option '${missing.flags}' not specified`);
  });
}

function explainExit(error: unknown, name: string): number {
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
  printError(`A defect in ${name}: ${describeDefect(error)}`);
  return exitCodes.defect;
}

/** If Node cannot open a file of a package, it may report the package as missing. */
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
