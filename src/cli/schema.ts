import { Command } from "commander";
import { jsonSchema } from "../config/schema.ts";
import { printJson } from "./terminal.ts";

export function createCommand(): Command {
  return new Command("schema")
    .description("Print the JSON Schema of the configuration, for editors.")
    .action(() => printJson(jsonSchema()));
}
