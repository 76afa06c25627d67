import { formatProblems } from "../config/diagnostics.ts";
import { readAtOnce } from "../config/files/file-system.ts";
import { type Loaded, type Loader, loadConfig } from "../config/load.ts";
import { type CommandFailure, countOf, usageFailure } from "./command.ts";
import { escapeControls } from "./terminal.ts";

/**
 * Loads the configuration.
 * @param load given by a command that will read the file again, which must then be no pipe
 * @throws CommandFailure with every problem of a refused configuration
 */
export async function loadOrRefuse(file: string, load?: Loader): Promise<Extract<Loaded, { kind: "loaded" }>> {
  const loaded = await (load?.({ readFile: (path) => readAtOnce(path) }) ?? loadConfig(file));
  if (loaded.kind === "loaded") return loaded;
  throw refusalOf(file, loaded, "nothing was started");
}

/** @param result of the refusal */
export function refusalOf(
  file: string,
  { problems, isOfForm }: Extract<Loaded, { kind: "refused" }>,
  result: string,
): CommandFailure {
  const sum = `${countOf(problems.length, "problem")}; ${result}.`;
  const rest = isOfForm ? " Files and references are checked once these are mended." : "";
  return usageFailure(`${escapeControls(formatProblems(file, problems))}\n\n${sum}${rest}`);
}
