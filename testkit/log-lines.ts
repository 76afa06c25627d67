import { createLogging } from "../src/adapters/log/logger.ts";
import type { Event } from "../src/model/events.ts";
import type { EventRecorder } from "./event-recorder.ts";

/**
 * The log of these events: its text; and its lines, or those of one event, as objects.
 * @throws Error if a line is not one JSON object with a line end
 */
export function logOf(events: Iterable<Event>, level: string) {
  let text = "";
  const { report } = createLogging(level, {
    write(chunk) {
      text += chunk;
    },
  });
  for (const event of events) report(event);
  const lines = readLines(text);
  return {
    text,
    of: (event?: Event["kind"]) => (event === undefined ? lines : lines.filter((line) => line.event === event)),
  };
}

/** The access lines of the first requests, as soon as this many have ended. Every event must have its own line. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into any log line
export async function accessLines({ recorder }: { readonly recorder: EventRecorder }, count: number): Promise<any[]> {
  await recorder.nth("request_finished", count);
  const log = logOf(recorder.events, "trace");
  if (log.of().length !== recorder.events.length) throw new Error("an event has no line, or more than one");
  return log.of("request_finished");
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function readLines(text: string): any[] {
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line does not end");
  return text.split("\n").slice(0, -1).map(readLine);
}

function readLine(line: string): unknown {
  const value: unknown = JSON.parse(line);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`not an object: ${line}`);
  // JSON.parse accepts two equal names and keeps the last; log stores refuse such a line.
  const names = [...JSON.stringify(value)].length;
  if (names !== [...line].length) throw new Error(`not as it would be written, so a name may come twice: ${line}`);
  return value;
}
