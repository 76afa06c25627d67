import { Command } from "commander";
import { stringToSign } from "../signing/canonical.ts";
import { verify } from "../signing/hmac.ts";
import { exitCodes } from "./command.ts";
import {
  exemptOption,
  findFault,
  keyFileOption,
  readExempt,
  readKeyFile,
  readStringParameters,
  strictOption,
} from "./signed-parameters.ts";
import { print, printJson } from "./terminal.ts";

interface Options {
  readonly keyFile: string;
  readonly exempt: string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("verify")
    .description("Verify the signature of the string parameters on standard input, such as a callback's (spec 5.2, 6).")
    .requiredOption(...keyFileOption)
    .option(...exemptOption)
    .option(...strictOption)
    .option("--json", "print the result as JSON")
    .action(async (options: Options) => {
      const secret = await readKeyFile(options.keyFile);
      const parameters = await readStringParameters();
      const exempt = readExempt(options.exempt);
      const reason = findReason(parameters, exempt, options, (text, signature) => verify(text, secret, signature));
      if (options.json) printJson({ valid: reason === undefined, reason });
      else print(reason ?? "The signature is valid.");
      if (reason !== undefined) process.exitCode = exitCodes.no;
    });
}

/** Why the signature is not accepted; undefined when it is. */
function findReason(
  parameters: ReadonlyMap<string, string>,
  exempt: ReadonlySet<string>,
  { strict }: Options,
  isValid: (text: string, signature: string) => boolean,
): string | undefined {
  const fault = strict ? findFault(parameters, exempt) : undefined;
  if (fault !== undefined) return fault;
  const signature = parameters.get("signature");
  if (signature === undefined) return "There is no parameter signature.";
  if (!/^[0-9a-f]{64}$/.test(signature)) return "The signature is not 64 lowercase hexadecimal digits.";
  if (isValid(stringToSign(parameters, exempt), signature)) return undefined;
  return "The signature does not match: another key, other parameters, or a value changed on the way.";
}
