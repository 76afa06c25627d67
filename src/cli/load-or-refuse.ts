import { formatProblems } from "../config/diagnostics.ts";
import { readAtOnce } from "../config/files/file-system.ts";
import { createLoader, type Loaded, type Loader } from "../config/load.ts";
import { countOf, usageFailure } from "./command.ts";

/** Loads the configuration. @throws CommandFailure with every problem of a refused configuration */
export async function loadOrRefuse(
  file: string,
  load: Loader = createLoader(file),
): Promise<Extract<Loaded, { kind: "loaded" }>> {
  const loaded = await load({ readFile: readAtOnce });
  if (loaded.kind === "loaded") return loaded;
  const { problems } = loaded;
  throw usageFailure(
    `${formatProblems(file, problems)}\n\n${countOf(problems.length, "problem")}; nothing was started.`,
  );
}
