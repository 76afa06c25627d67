import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { formatProblems } from "../config/print-problems.ts";
import type { Problem } from "../config/problem.ts";
import { CommandFailure, exitCodes } from "./command.ts";

/** The option of every command that needs the configuration. */
export const configOption = ["--config <file>", "configuration file (YAML)"] as const;

/** The configuration, or the end of the command with every problem that it has. */
export async function loadOrRefuse(file: string): Promise<{ config: Config; warnings: readonly Problem[] }> {
  const loaded = await loadConfig(file);
  if (loaded.kind === "loaded") return loaded;
  const { problems } = loaded;
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  throw new CommandFailure(`${formatProblems(file, problems)}\n\n${count}; nothing was started.`, exitCodes.usage);
}
