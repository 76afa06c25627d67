import pino, { type DestinationStream, type Logger } from "pino";
import { type Clock, LogThrottle, systemClock } from "../../model/clock.ts";
import type { CallbackFinished, Event, Report, RequestFinished } from "../../model/events.ts";
import { claimsNodeName } from "../../model/redis-access.ts";
import {
  adviceOn,
  describeClock,
  fieldsOf,
  headline,
  levelOf,
  type RedisDown,
  troubleOf,
  writeAccessLine,
} from "./lines.ts";
import { createOutages } from "./outages.ts";
import { openStandardOutput } from "./standard-output.ts";

/**
 * The log on standard output; `flush` is for a process that ends by a defect.
 * @param format what is written in place of a line of JSON, for a reader that is a person
 */
export function createStandardLogging(level: string, clock: Clock, format?: (json: string) => string) {
  const output = openStandardOutput(clock, (dropped) => logging.report({ kind: "log_lines_dropped", dropped }));
  const destination = format && { ...output, write: (json: string) => output.write(format(json)) };
  const logging = createLogging(level, destination ?? output);
  return { ...logging, droppedLines: () => output.dropped, flush: output.writeRest };
}

/** After so many lines what to do is said again: `tail -20` then shows it, and a flood gets hardly longer. */
const linesInSight = 15;

/** The receiver of lines, which may keep them for a moment to write several at once. */
interface LogDestination extends DestinationStream {
  /** Writes waiting lines as soon as this turn of the event loop is over. */
  writePending?(): void;
}

/**
 * Turns events into log lines: one JSON object each. An access line may wait for others. Any other line, and that of a
 * request or callback that is a warning or an error, is written at once, after the waiting lines.
 * @param level the least severe level that is written
 */
export function createLogging(level: string, destination: LogDestination, clock = systemClock) {
  const now = createTimestamp();
  const throttle = new LogThrottle(clock);
  const endOutage = createOutages(clock);
  /** Environments from whose clocks ours differs. */
  const wrongClocks = new Set<string>();
  /** The Redis servers that are down, by node. */
  const away = new Map<string, RedisDown>();
  const logger: Logger = pino(
    {
      level,
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${now()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  // Routes of listeners are logged at any level: they decide which orders are real.
  const always = logger.child({}, { level: "info" });
  const judgeClock = (event: Extract<Event, { kind: "clock_skew_measured" }>) => {
    const news = describeClock(event, wrongClocks.has(event.environment));
    if (news === undefined) return headline(event);
    if (news[0] === "warn") wrongClocks.add(event.environment);
    else wrongClocks.delete(event.environment);
    return news;
  };
  let lines = 0;
  /** The number of the last line that said what to do, by trouble. */
  const advised = new Map<string, number>();
  /** Undefined unless it is the first such line for a minute, or the last one is out of sight of whoever reads the end. */
  const advise = (event: RequestFinished | CallbackFinished) => {
    const ofKeys = event.kind === "request_finished" ? away.get(claimsNodeName) : undefined;
    const redis = ofKeys ?? away.get("cache");
    const trouble = troubleOf(event, redis);
    const isOutOfSight = lines >= (advised.get(trouble) ?? 0) + linesInSight;
    if (!throttle.isFirst(trouble) && !isOutOfSight) return undefined;
    advised.set(trouble, lines);
    return adviceOn(event, redis);
  };
  const report: Report = (event) => {
    if (event.kind === "request_finished" || event.kind === "callback_finished") {
      const level = levelOf(event);
      const ended = endOutage(event, level === "info");
      if (ended !== undefined) report(ended);
      if (!logger.isLevelEnabled(level)) return;
      lines += 1;
      destination.write(writeAccessLine(event, level, now(), level === "info" ? undefined : advise(event)));
      if (level !== "info") destination.writePending?.();
      return;
    }
    if (event.kind === "redis_down") away.set(event.node, event);
    if (event.kind === "redis_up") away.delete(event.node);
    const [level, message] = event.kind === "clock_skew_measured" ? judgeClock(event) : headline(event);
    const writer = event.kind === "started" || event.kind === "config_applied" ? always : logger;
    if (!writer.isLevelEnabled(level)) return;
    lines += 1;
    writer[level](fieldsOf(event), message);
    destination.writePending?.();
  };
  return {
    report,
    /** @param level the least severe level that is written from now on */
    setLevel(level: string): void {
      logger.level = level;
    },
  };
}

/** The time in ISO 8601, written out once for each millisecond. */
function createTimestamp(): () => string {
  let writtenMs = Number.NaN;
  let written = "";
  return () => {
    const nowMs = systemClock.wallMs();
    if (nowMs !== writtenMs) {
      writtenMs = nowMs;
      written = new Date(nowMs).toISOString();
    }
    return written;
  };
}
