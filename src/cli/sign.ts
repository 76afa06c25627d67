import type { Command } from "commander";
import { sign } from "../signing/hmac.ts";
import { CommandFailure, exitCodes } from "./command.ts";
import { commandOnSigned, readSigned, type SignedOptions } from "./signed-parameters.ts";
import { print } from "./terminal.ts";

export function createCommand(): Command {
  return commandOnSigned(
    "sign",
    "Sign the string parameters given as a JSON object on standard input (spec 5.2).",
  ).action(async (options: SignedOptions) => {
    const { secret, stringToSign, fault } = await readSigned(options);
    if (fault !== undefined) throw new CommandFailure(fault, exitCodes.no);
    print(JSON.stringify({ stringToSign, signature: sign(stringToSign, secret) }));
  });
}
