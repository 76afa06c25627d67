import type { Command } from "commander";
import { verify } from "../signing/hmac.ts";
import { exitCodes } from "./command.ts";
import { createSignatureCommand, readSigned, type SignedOptions, type SignedParameters } from "./sign.ts";
import { print, printJson } from "./terminal.ts";

interface Options extends SignedOptions {
  readonly json?: boolean;
}

export function createCommand(): Command {
  return createSignatureCommand(
    "verify",
    "Verify the signature of the string parameters on standard input, such as a callback's (spec 5.2, 6).",
  )
    .option("--json", "print the result as JSON")
    .action(async ({ json, ...options }: Options) => {
      const reason = findReason(await readSigned(options));
      if (json) printJson({ valid: reason === undefined, reason });
      else print(reason ?? "The signature is valid.");
      if (reason !== undefined) process.exitCode = exitCodes.no;
    });
}

/** Why the signature is not accepted; undefined when it is. */
function findReason({ parameters, secret, stringToSign, fault }: SignedParameters): string | undefined {
  if (fault !== undefined) return fault;
  const signature = parameters.find(({ name }) => name === "signature")?.value;
  if (signature === undefined) return "There is no parameter signature.";
  if (!/^[0-9a-f]{64}$/.test(signature)) return "The signature is not 64 lowercase hexadecimal digits.";
  if (verify(stringToSign, secret, signature)) return undefined;
  return "The signature does not match: another key, other parameters, or a value changed on the way.";
}
