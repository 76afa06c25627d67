import { parseArgs } from "node:util";
import { print, printError } from "../src/cli/terminal.ts";

/** An invalid command line. */
export class UsageError extends Error {}

/** How an option is read, present or absent; throws UsageError. */
export interface Option<Value> {
  readonly type: "string" | "boolean";
  /** @param name as it is typed, `--in-flight` */
  read(given: string | undefined, name: string): Value;
}

type Values<Known> = { readonly [Name in keyof Known]: Known[Name] extends Option<infer Value> ? Value : never };

export const flag: Option<boolean> = { type: "boolean", read: (given) => given !== undefined };
export const text: Option<string | undefined> = { type: "string", read: (given) => given };
/** Names with commas between. */
export const names: Option<readonly string[]> = {
  type: "string",
  read: (given = "") => given.split(",").filter((name) => name !== ""),
};

export function wholeNumber<Fallback>(least: number, most: number, fallback: Fallback): Option<number | Fallback> {
  return {
    type: "string",
    read(given, name) {
      if (given === undefined) return fallback;
      const value = Number(given);
      if (/^\d{1,10}$/.test(given) && value >= least && value <= most) return value;
      throw new UsageError(`${name} wants a whole number from ${least} to ${most}.`);
    },
  };
}

/** The seed of an earlier run, or a new one. */
export const seed = (drawSeed: () => number) => wholeNumber(0, 2 ** 32 - 1, drawSeed());

/**
 * The values of a command's options; `inFlight` is typed `--in-flight`.
 * @returns undefined when help is requested
 * @throws UsageError with the usage, for options that are not known
 */
export function readOptions<Known extends Readonly<Record<string, Option<unknown>>>>(
  args: readonly string[],
  usage: string,
  known: Known,
): Values<Known> | undefined {
  const typed = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const options = Object.entries(known).map(([name, { type }]) => [typed(name), { type }]);
  const given = parse(args, { ...Object.fromEntries(options), help: { type: "boolean" } }, usage);
  if (given["help"] !== undefined) return undefined;
  const values = Object.entries(known).map(([name, option]) => {
    return [name, option.read(given[typed(name)]?.toString(), `--${typed(name)}`)];
  });
  return Object.fromEntries(values) as Values<Known>;
}

function parse(args: readonly string[], options: Record<string, Pick<Option<unknown>, "type">>, usage: string) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(". ")[0] : "";
    throw new UsageError(`${reason}.\n\n${usage}`);
  }
}

/**
 * Runs a command with the options of its command line.
 * @param read returns undefined when help is requested; throws UsageError
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
