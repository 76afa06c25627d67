import { Command } from "commander";
import { dropNewline } from "../config/rules/load-context.ts";
import { ProxyError } from "../model/errors.ts";
import { Secret } from "../model/secret.ts";
import { readParameters } from "../parameters/parameters.ts";
import {
  defaultExempt,
  exemptNames,
  findForbiddenCharacter,
  isDecimal,
  type NamedValue,
  requiredNames,
  sign,
  stringToSign,
  verify,
} from "../parameters/signature.ts";
import { CommandFailure, exampleOf, exitCodes, usageFailure } from "./command.ts";
import { readOrRefuse, readStandardInput } from "./input.ts";
import { print, printJson } from "./terminal.ts";

const twoDigits = /^-?(0|[1-9]\d*)\.\d{2}$/;
/** The command line has no configuration that could name further decimals. */
const noMore: ReadonlySet<string> = new Set();

interface Options {
  readonly keyFile: string;
  readonly exempt: string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/** The input of `sign` and `verify`. */
interface Signed {
  readonly parameters: readonly NamedValue[];
  readonly secret: Secret;
  readonly stringToSign: string;
  /** How the parameters violate spec 5.2; undefined without `--strict`, or if they do not. */
  readonly fault: string | undefined;
}

export function createCommand(): Command {
  return createSignatureCommand(
    "sign",
    "Sign the string parameters given as a JSON object on standard input (spec 5.2).",
    ({ secret, stringToSign, fault }) => {
      if (fault !== undefined) throw new CommandFailure(fault, exitCodes.no);
      print(JSON.stringify({ stringToSign, signature: sign(stringToSign, secret) }));
    },
  );
}

export function createVerifyCommand(): Command {
  return createSignatureCommand(
    "verify",
    "Verify the signature of the string parameters on standard input, such as a callback's (spec 5.2, 6).",
    (signed, { json }) => {
      const reason = findReason(signed);
      if (json) printJson({ valid: reason === undefined, reason });
      else print(reason ?? "The signature is valid.");
      if (reason !== undefined) process.exitCode = exitCodes.no;
    },
  ).option("--json", "print the result as JSON");
}

/** A command for the string parameters on standard input, with the options that `sign` and `verify` share. */
function createSignatureCommand(name: string, description: string, act: (signed: Signed, options: Options) => void) {
  return new Command(name)
    .description(description)
    .requiredOption("--key-file <file>", "file with the API secret key; one newline at its end is dropped")
    .option("--exempt <names>", "names of parameters that are not signed, separated by commas", defaultExempt.join(","))
    .option("--strict", "also check required parameters, characters and decimals (spec 5.2)")
    .addHelpText(...exampleOf(`countersign ${name} --key-file secrets/key <parameters.json`))
    .action(async (options: Options) => act(await readSigned(options), options));
}

async function readSigned({ keyFile, exempt: names, strict }: Options): Promise<Signed> {
  // The bytes are used unchanged, as in `serve`: a key need not be text.
  const key = dropNewline(await readOrRefuse(keyFile, ".", `--key-file ${keyFile}`));
  if (key.length === 0) throw usageFailure(`--key-file ${keyFile} is empty.`);
  const parameters = await readStringParameters();
  const exempt = exemptNames(names.split(",").map((name) => name.trim()));
  const fault = strict ? findFault(parameters, exempt) : undefined;
  return { parameters, secret: new Secret(key), stringToSign: stringToSign(parameters, exempt), fault };
}

/** Why the signature is not accepted; undefined if it is accepted. */
function findReason({ parameters, secret, stringToSign, fault }: Signed): string | undefined {
  if (fault !== undefined) return fault;
  const signature = parameters.find(({ name }) => name === "signature")?.value;
  if (signature === undefined) return "There is no parameter signature.";
  if (!/^[0-9a-f]{64}$/.test(signature)) return "The signature is not 64 lowercase hexadecimal digits.";
  if (verify(stringToSign, secret, signature)) return undefined;
  return "The signature does not match: another key, other parameters, or a value changed on the way.";
}

/** The string parameters on standard input, in their order. */
async function readStringParameters(): Promise<NamedValue[]> {
  const body = await readStandardInput("the string parameters, a JSON object,");
  const parameters: NamedValue[] = [];
  try {
    for (const parameter of readParameters(body).values()) {
      const { name, kind } = parameter;
      if (kind !== "string")
        throw usageFailure(`The parameter ${name} is a ${kind}; every value is a string, in quotes.`);
      parameters.push(parameter);
    }
  } catch (error) {
    throw error instanceof ProxyError ? usageFailure(`Standard input: ${error.message}`) : error;
  }
  return parameters;
}

/** How the parameters violate spec 5.2; undefined if they do not. */
function findFault(parameters: readonly NamedValue[], exempt: ReadonlySet<string>): string | undefined {
  const missing = requiredNames.find((required) => !parameters.some(({ name }) => name === required));
  if (missing !== undefined) return `The required parameter ${missing} is missing.`;
  const character = findForbiddenCharacter(parameters, exempt);
  if (character !== undefined) {
    return `The parameter ${character.name} has a character at position ${character.position} that is not allowed.`;
  }
  const decimal = parameters.find(({ name, value }) => isDecimal(name, noMore) && !twoDigits.test(value));
  return decimal === undefined ? undefined : `The amount ${decimal.name} has not exactly two digits after the point.`;
}
