import { Command } from "commander";
import { stringToSign } from "../signing/canonical.ts";
import { sign } from "../signing/hmac.ts";
import { CommandFailure, exitCodes } from "./command.ts";
import {
  exemptOption,
  findFault,
  keyFileOption,
  readExempt,
  readKeyFile,
  readStringParameters,
  strictOption,
} from "./signed-parameters.ts";
import { print } from "./terminal.ts";

interface Options {
  readonly keyFile: string;
  readonly exempt: string;
  readonly strict?: boolean;
}

export function createCommand(): Command {
  return new Command("sign")
    .description("Sign the string parameters given as a JSON object on standard input (spec 5.2).")
    .requiredOption(...keyFileOption)
    .option(...exemptOption)
    .option(...strictOption)
    .action(async (options: Options) => {
      const secret = await readKeyFile(options.keyFile);
      const parameters = await readStringParameters();
      const exempt = readExempt(options.exempt);
      const fault = options.strict ? findFault(parameters, exempt) : undefined;
      if (fault !== undefined) throw new CommandFailure(fault, exitCodes.no);
      const text = stringToSign(parameters, exempt);
      print(JSON.stringify({ stringToSign: text, signature: sign(text, secret) }));
    });
}
