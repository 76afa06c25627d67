import { formatProblems } from "../config/diagnostics.ts";
import { readAtOnce } from "../config/files/file-system.ts";
import { type Loaded, type Loader, loadConfig } from "../config/load.ts";
import { countOf, usageFailure } from "./command.ts";
import { escapeControls } from "./terminal.ts";

/**
 * Loads the configuration.
 * @param load given by a command that will read the file again, which must then be no pipe
 * @param result of the refusal
 * @throws CommandFailure with every problem of a refused configuration
 */
export async function loadOrRefuse(
  file: string,
  load?: Loader,
  result = "nothing was started",
): Promise<Extract<Loaded, { kind: "loaded" }>> {
  const loaded = await (load?.({ readFile: (path) => readAtOnce(path) }) ?? loadConfig(file));
  if (loaded.kind === "loaded") return loaded;
  const { problems, isOfForm } = loaded;
  const sum = `${countOf(problems.length, "problem")}; ${result}.`;
  const rest = isOfForm ? " Files and references are checked once these are mended." : "";
  throw usageFailure(`${escapeControls(formatProblems(file, problems))}\n\n${sum}${rest}`);
}
