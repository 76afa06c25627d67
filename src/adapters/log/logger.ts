import pino, { type DestinationStream, type Logger } from "pino";
import type { Event, Report } from "../../events.ts";
import { describeEvent, type Line } from "./lines.ts";

/**
 * Turns facts into log lines: one JSON object each, on standard output.
 * @param level the least severe level that is written
 */
export function createLogging(
  level: string,
  destination: DestinationStream = pino.destination({ sync: false }),
): Report {
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
  return (event: Event) => {
    const line: Line | undefined = describeEvent(event);
    if (line !== undefined) logger[line.level]({ event: event.kind, ...line.fields }, line.message);
  };
}
