import { type ParseArgsConfig, parseArgs } from "node:util";
import { print, printError } from "../src/cli/terminal.ts";

/** A command line that cannot be obeyed. */
export class UsageError extends Error {}

/** @throws UsageError with the usage, for options that are not known */
export function parseOptions<Options extends NonNullable<ParseArgsConfig["options"]>>(
  args: readonly string[],
  options: Options,
  usage: string,
) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(". ")[0] : "";
    throw new UsageError(`${reason}.\n\n${usage}`);
  }
}

/** @throws UsageError */
export function readNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${name} wants a whole number from ${least} to ${most}.`);
}

/**
 * Runs a command with what its command line says.
 * @param read undefined when help is wanted; throws UsageError
 * @returns the exit code: the command's, 0 after help, 2 for a command line that is wrong
 */
export async function runCommand<Options>(
  read: (args: readonly string[], drawSeed: () => number) => Options | undefined,
  usage: string,
  play: (options: Options) => Promise<number>,
): Promise<number> {
  let options: Options | undefined;
  try {
    options = read(process.argv.slice(2), () => Date.now() % 1_000_000);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    printError(error.message);
    return 2;
  }
  if (options !== undefined) return play(options);
  print(usage);
  return 0;
}
