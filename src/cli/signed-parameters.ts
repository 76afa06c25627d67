import { readFile } from "node:fs/promises";
import { Command } from "commander";
import { dropNewline } from "../config/load-context.ts";
import { ProxyError } from "../model/errors.ts";
import { Secret } from "../model/secret.ts";
import { readParameters } from "../proxy/parameters.ts";
import { stringToSign } from "../signing/canonical.ts";
import { findForbiddenCharacter } from "../signing/characters.ts";
import { defaultExempt, exemptNames, isDecimal, requiredNames } from "../signing/parameter-rules.ts";
import { usageFailure } from "./command.ts";
import { readStandardInput } from "./terminal.ts";

const twoDigits = /^-?(0|[1-9]\d*)\.\d{2}$/;
/** The command line knows no other names than those of the specification. */
const noMore: ReadonlySet<string> = new Set();

export interface SignedOptions {
  readonly keyFile: string;
  readonly exempt: string;
  readonly strict?: boolean;
}

/** What `sign` and `verify` work on. */
export interface Signed {
  readonly parameters: ReadonlyMap<string, string>;
  readonly secret: Secret;
  readonly stringToSign: string;
  /** What spec 5.2 has against the parameters, where `--strict` asks for it. */
  readonly fault: string | undefined;
}

/** A command on the string parameters of standard input, with the options that `sign` and `verify` share. */
export function commandOnSigned(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .requiredOption("--key-file <file>", "file with the API secret key; one newline at its end is dropped")
    .option("--exempt <names>", "names that are not signed, by commas", defaultExempt.join(","))
    .option("--strict", "also check required parameters, characters and decimals (spec 5.2)");
}

export async function readSigned({ keyFile, exempt: names, strict }: SignedOptions): Promise<Signed> {
  const secret = await readKeyFile(keyFile);
  const parameters = await readStringParameters();
  const exempt = exemptNames(names.split(",").map((name) => name.trim()));
  const fault = strict ? findFault(parameters, exempt) : undefined;
  return { parameters, secret, stringToSign: stringToSign(parameters, exempt), fault };
}

/** The string parameters on standard input, in their order. */
async function readStringParameters(): Promise<Map<string, string>> {
  const parameters = new Map<string, string>();
  try {
    for (const [name, { kind, text }] of readParameters(
      await readStandardInput("the string parameters, a JSON object,"),
    )) {
      if (kind !== "string")
        throw usageFailure(`The parameter ${name} is a ${kind}; every value is a string, in quotes.`);
      parameters.set(name, text);
    }
  } catch (error) {
    throw error instanceof ProxyError ? usageFailure(`Standard input: ${error.message}`) : error;
  }
  return parameters;
}

/** The bytes as they are, as `serve` takes them: a key need not be text. */
async function readKeyFile(path: string): Promise<Secret> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageFailure(`--key-file ${path} cannot be read (${error.code}).`);
  });
  const key = dropNewline(bytes);
  if (key.length === 0) throw usageFailure(`--key-file ${path} is empty.`);
  return new Secret(key);
}

/** What spec 5.2 has against these parameters; undefined when nothing. */
function findFault(parameters: ReadonlyMap<string, string>, exempt: ReadonlySet<string>): string | undefined {
  const missing = requiredNames.find((name) => !parameters.has(name));
  if (missing !== undefined) return `The required parameter ${missing} is missing.`;
  const character = findForbiddenCharacter(parameters, exempt);
  if (character !== undefined) {
    return `The parameter ${character.name} has a character at position ${character.position} that is not allowed.`;
  }
  const decimal = [...parameters].find(([name, value]) => isDecimal(name, noMore) && !twoDigits.test(value));
  return decimal === undefined ? undefined : `The amount ${decimal[0]} has not exactly two digits after the point.`;
}
