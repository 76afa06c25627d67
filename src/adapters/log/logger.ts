import pino, { type DestinationStream, type Logger } from "pino";
import type { Clock } from "../../model/clock.ts";
import type { Report } from "../../model/events.ts";
import { fieldsOf, headline } from "./lines.ts";
import { openStandardOutput } from "./standard-output.ts";

export interface Logging {
  readonly report: Report;
  /** @param level the least severe level that is written from now on */
  setLevel(level: string): void;
}

/** The log on standard output. */
export interface StandardLogging extends Logging {
  /** Lines that were not written so far because the reader of standard output stalled or had closed its end. */
  readonly droppedLines: () => number;
  /** Writes what is left, as far as the reader takes it within 2 s: before the process ends by a defect. */
  readonly flush: () => void;
}

export function createStandardLogging(level: string, clock: Clock): StandardLogging {
  const output = openStandardOutput(clock, (dropped) => logging.report({ kind: "log_lines_dropped", dropped }));
  const logging = createLogging(level, output);
  return { ...logging, droppedLines: () => output.dropped, flush: output.flush };
}

/**
 * Turns events into log lines: one JSON object each.
 * @param level the least severe level that is written
 */
export function createLogging(level: string, destination: DestinationStream): Logging {
  const logger: Logger = pino(
    {
      level,
      base: null,
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  // Where each listener leads is logged at any level: it decides which orders are real.
  const always = logger.child({}, { level: "info" });
  return {
    report(event) {
      const [level, message] = headline(event);
      const writer = event.kind === "started" || event.kind === "config_applied" ? always : logger;
      if (writer.isLevelEnabled(level)) writer[level](fieldsOf(event), message);
    },
    setLevel(level) {
      logger.level = level;
    },
  };
}
