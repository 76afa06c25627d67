import { Command } from "commander";
import { createLogging } from "../adapters/log/logger.ts";
import { describeDefect } from "../defect.ts";
import type { Report } from "../events.ts";
import { start } from "../wiring/start.ts";
import { exitCodes, usageFailure } from "./command.ts";
import { configOption, loadOrRefuse } from "./load.ts";
import { untilStopped } from "./until-stopped.ts";

interface Options {
  readonly config: string;
}

export function createCommand(): Command {
  return new Command("serve")
    .description("Run the proxy until SIGTERM or SIGINT; open requests are let finish.")
    .requiredOption(...configOption)
    .action(serve);
}

async function serve({ config: file }: Options): Promise<void> {
  let report: Report = () => {};
  // Unheard, it would end the process at once, with every open request.
  process.on("SIGHUP", () => report({ kind: "reload_not_available" }));
  const { config, warnings } = await loadOrRefuse(file);
  report = createLogging(config.log.level);
  exitOnDefects(report);
  for (const { path, message } of warnings) report({ kind: "configuration_warned", path, message });
  const running = await start(config, { report }).catch((error: NodeJS.ErrnoException) => {
    throw usageFailure(`Countersign cannot listen: ${explainListenError(error)}. Nothing was started.`);
  });
  await running.stop(await untilStopped());
}

/** A programming error is one redacted line and exit 70: what state it left behind cannot be known. */
function exitOnDefects(report: Report): void {
  const exit = (where: string) => (error: unknown) => {
    report({ kind: "defect", where, error: describeDefect(error) });
    process.exit(exitCodes.defect);
  };
  process.on("uncaughtException", exit("uncaughtException"));
  process.on("unhandledRejection", exit("unhandledRejection"));
}

function explainListenError({ code, message }: NodeJS.ErrnoException): string {
  return code === "EADDRINUSE" ? `${message.replace(/^listen EADDRINUSE: /, "")}` : message;
}
