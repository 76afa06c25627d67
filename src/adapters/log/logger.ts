import pino, { type DestinationStream, type Logger } from "pino";
import type { Report } from "../../events.ts";
import { fieldsOf, headline } from "./lines.ts";

export interface Logging {
  readonly report: Report;
  /** @param level the least severe level that is written from now on */
  setLevel(level: string): void;
}

/**
 * Turns facts into log lines: one JSON object each, on standard output.
 * @param level the least severe level that is written
 */
export function createLogging(level: string, destination: DestinationStream = openStandardOutput()): Logging {
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
  // Where each listener leads is said whatever the level: it decides which orders are real.
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

/** Unwritten text beyond this is dropped: whoever reads standard output and stalls must not fill our memory. */
const longestBacklogBytes = 16_777_216;

/**
 * A log that cannot be written must not end the proxy, nor keep it from ending: at exit the stream would try for ever to
 * write what a full disk refuses.
 */
function openStandardOutput(): DestinationStream {
  const output = pino.destination({ sync: false, maxLength: longestBacklogBytes });
  output.on("error", () => {
    output.flushSync = () => {};
  });
  return output;
}
