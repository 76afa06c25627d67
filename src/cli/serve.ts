import { setFlagsFromString } from "node:v8";
import { Command } from "commander";
import { shareLookups } from "../adapters/http-client/host-lookup.ts";
import { createStandardLogging } from "../adapters/log/logger.ts";
import { start } from "../app/app.ts";
import { explainListenError } from "../app/listeners.ts";
import { askDescriptorLimit, createDescriptorFit } from "../app/process-limits.ts";
import { createWarner, Reloader } from "../app/reload.ts";
import { createLoader } from "../config/load.ts";
import { systemClock } from "../model/clock.ts";
import { describeDefect, describeWarning } from "../model/defect.ts";
import type { Report } from "../model/events.ts";
import { about, configOption, exampleOf, exitCodes, usageFailure } from "./command.ts";
import { loadOrRefuse } from "./load-or-refuse.ts";
import { formatForPeople } from "./log-line.ts";
import { followStop, runProgram } from "./run-program.ts";
import type { Signals } from "./signals.ts";

interface Options {
  readonly config: string;
}

/** @param signals absent if the command is only described */
export function createCommand(signals?: Signals): Command {
  return new Command("serve")
    .description(
      "Run the proxy until SIGTERM or SIGINT; open requests end first. SIGHUP reads the files again. The log is JSON, and on a terminal lines for people.",
    )
    .addOption(configOption())
    .addHelpText(...exampleOf("countersign serve --config countersign.yaml"))
    .action((options: Options) => {
      if (signals === undefined) throw new Error("signals are caught before serve is loaded");
      return serve(options, signals);
    });
}

/** As in serve-program.ts, but for the image's script, in which all modules except the lazy ones share one scope. */
export function run(args: readonly string[], signals: Signals): Promise<number> {
  return runProgram({ ...about, commands: { serve: async () => createCommand(signals) } }, args);
}

async function serve({ config: file }: Options, signals: Signals): Promise<void> {
  const load = createLoader(file);
  const first = await loadOrRefuse(file, load);
  const { config: written, warnings } = first;
  const { report, setLevel, droppedLines, flush } = createStandardLogging(
    written.log.level,
    systemClock,
    process.stdout.isTTY ? formatForPeople : undefined,
  );
  exitOnDefects(report, flush);
  logWarnings(report);
  shareLookups(systemClock, report);
  const warn = createWarner(report);
  warn(warnings);
  const fitDescriptors = createDescriptorFit(await askDescriptorLimit(), report);
  const config = fitDescriptors(written);
  // From here on requests may be open.
  const stop = followStop((listener) => signals.onStop(listener), systemClock);
  const running = await start(config, { report, droppedLogLines: droppedLines }).catch((error: unknown) => {
    const reason = explainListenError(error);
    if (reason === undefined) throw error;
    throw usageFailure(`Countersign cannot listen: ${reason}. Nothing was started.`);
  });
  leaveOutMaglev();
  const loadAgain = async (changed?: ReadonlySet<string>) => {
    const loaded = await load({ changed });
    return loaded.kind === "refused" ? loaded : { ...loaded, config: fitDescriptors(loaded.config) };
  };
  const onApplied = ({ log }: typeof config) => setLevel(log.level);
  const parts = { running, load: loadAgain, clock: systemClock, report: running.report, onApplied, warn };
  const reloader = new Reloader(parts, first);
  signals.onHangUp(() => void reloader.reload("sighup"));
  const signal = await stop.first;
  reloader.close();
  void stop.second.then(() => {
    process.exitCode = exitCodes.no;
    running.hurry();
  });
  await running.stop(signal);
}

/**
 * Maglev, V8's middle compiler, takes 16 MiB under load and brings no gain that can be measured. If the option were on Node's command
 * line, each start would compile Node's own modules anew, which takes 25 ms.
 */
function leaveOutMaglev(): void {
  setFlagsFromString("--no-maglev");
}

/** Ends the process after a programming error, with one redacted log line and exit 70: the process's state is then unknown. */
function exitOnDefects(report: Report, flush: () => void): void {
  const exit = (where: string) => (error: unknown) => {
    report({ kind: "defect", where, error: describeDefect(error) });
    // Now: the defect may be in the code that would write the log later.
    flush();
    process.exit(exitCodes.defect);
  };
  process.on("uncaughtException", exit("uncaughtException"));
  process.on("unhandledRejection", exit("unhandledRejection"));
}

/** Logs the warnings that Node and packages would write to standard error as plain text. */
function logWarnings(report: Report): void {
  const log = (warning: Error) => report({ kind: "process_warned", warning: describeWarning(warning) });
  process.removeAllListeners("warning");
  process.on("warning", log);
  const logPrinted = () => log(Object.assign(new Error(), { name: "ConsoleWarning" }));
  Object.assign(console, { warn: logPrinted, error: logPrinted });
}
