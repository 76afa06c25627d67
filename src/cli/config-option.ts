import { InvalidArgumentError, Option } from "commander";

/** The option of every command that needs the configuration; in a pod the variable stands for it. */
export function configOption(): Option {
  return new Option("--config <file>", "configuration file (YAML)")
    .env("COUNTERSIGN_CONFIG")
    .argParser(readFileName)
    .makeOptionMandatory();
}

function readFileName(text: string): string {
  if (text === "") throw new InvalidArgumentError("It is empty; name a file.");
  return text;
}
