import { join } from "node:path";
import { Command } from "commander";
import { formatProblems, located, type Problem } from "../config/diagnostics.ts";
import { explain, routes } from "../config/explain.ts";
import { toYaml } from "../config/files/yaml.ts";
import { jsonSchema } from "../config/form/schema.ts";
import { loadConfig } from "../config/load.ts";
import { configOption, countOf, exampleOf, exitCodes } from "./command.ts";
import { loadOrRefuse } from "./load-or-refuse.ts";
import { escapeControls, paint, print, printJson } from "./terminal.ts";

interface Options {
  readonly config: string;
  readonly print?: boolean;
  readonly json?: boolean;
}

export function createCommand(): Command {
  return new Command("check")
    .description("Check a configuration with everything it names.")
    .addOption(configOption())
    .option("--print", "print it with every default, secrets masked")
    .option("--json", "print the result as JSON")
    .addHelpText(...exampleOf("countersign check --config countersign.yaml --print"))
    .action((options: Options) => (options.json ? checkAsJson(options.config) : checkForPeople(options)));
}

export function createSchemaCommand(): Command {
  return new Command("schema")
    .description("Print the JSON Schema of the configuration, for editors.")
    .addHelpText(...exampleOf("countersign schema >countersign.schema.json"))
    .action(() => printJson(jsonSchema()));
}

async function checkForPeople({ config: file, print: isPrinted = false }: Options): Promise<void> {
  const { config, warnings, acknowledged } = await loadOrRefuse(file);
  if (isPrinted) print(toYaml(explain(config)));
  for (const route of routes(config)) print(`${paint("green", "ok")}  ${route}`);
  if (warnings.length > 0) {
    print(`\n${paint("yellow", countOf(warnings.length, "warning"))}`);
    print(escapeControls(formatProblems(file, located(warnings))));
    print("\nA warning that is known can be silenced: acknowledge: [ code ]");
  }
  let countRefused = 0;
  for (const [name, { sites, siteFolder }] of config.environments) {
    if (siteFolder === undefined) continue;
    const { path, refused } = siteFolder;
    print(`${paint("green", "ok")}  ${name} serves ${countOf(sites.size, "site")} of ${escapeControls(path)}`);
    for (const { file, problems } of refused) {
      countRefused += 1;
      print(`${paint("red", "refused")}  ${escapeControls(file)}`);
      print(escapeControls(formatProblems(join(path, file), problems)));
    }
  }
  if (acknowledged.length > 0)
    print(`\nacknowledged: ${escapeControls(located(acknowledged).map(describeAcknowledged).join(", "))}`);
  if (countRefused > 0) {
    process.exitCode = exitCodes.no;
    print(
      `${paint("red", "refused")}  ${countOf(countRefused, "file")} of sites; ${escapeControls(file)} itself is valid`,
    );
    return;
  }
  print(`${paint("green", "ok")}  ${escapeControls(file)} is valid`);
}

function describeAcknowledged({ code, path }: Problem): string {
  return path === "" ? `${code}` : `${code} (${path})`;
}

async function checkAsJson(file: string): Promise<void> {
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") {
    printJson({ valid: false, problems: loaded.problems });
    process.exitCode = exitCodes.usage;
    return;
  }
  const { config, warnings, acknowledged } = loaded;
  const found = { warnings: located(warnings), acknowledged: located(acknowledged) };
  const refused = [...config.environments.values()].flatMap(({ name: environment, siteFolder }) =>
    (siteFolder?.refused ?? []).map(({ file, problems }) => ({ environment, file, problems })),
  );
  const refusedSiteFiles = refused.length === 0 ? undefined : refused;
  if (refused.length > 0) process.exitCode = exitCodes.no;
  const { hash } = config;
  printJson({ valid: true, hash, routes: routes(config), ...found, refusedSiteFiles, configuration: explain(config) });
}
