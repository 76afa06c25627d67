import pino, { type DestinationStream, type Logger } from "pino";
import type { Report } from "../../events.ts";
import { fieldsOf, headline } from "./lines.ts";

/**
 * Turns facts into log lines: one JSON object each, on standard output.
 * @param level the least severe level that is written
 */
export function createLogging(level: string, destination: DestinationStream = openStandardOutput()): Report {
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
  return (event) => {
    const [level, message] = headline(event);
    const writer = event.kind === "started" ? always : logger;
    if (writer.isLevelEnabled(level)) writer[level](fieldsOf(event), message);
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
