/** The access line is assembled without pino; it has exactly the bytes that pino writes for the same fields. */
import pino from "pino";
import { expect, it } from "vitest";
import { headline, levelOf, writeAccessLine } from "../../src/adapters/log/lines.ts";
import { failureCodes } from "../../src/model/errors.ts";
import {
  type CallbackFinished,
  callerSignatureResults,
  forgeryReasons,
  noRetryReasons,
  onceResults,
  type RequestFinished,
  retryResults,
  tokenOutages,
} from "../../src/model/events.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";

const time = "2026-11-21T12:00:00.007Z";

let written = "";
const logger = pino(
  {
    level: "trace",
    base: null,
    messageKey: "message",
    timestamp: () => `,"time":"${time}"`,
    formatters: { level: (label) => ({ level: label }) },
  },
  {
    write(line) {
      written = line;
    },
  },
);

const random = seededRandom(drawSeed("access lines"));
const below = (bound: number) => Math.floor(random() * bound);
const pick = <Value>(...values: readonly [Value, ...Value[]]): Value => values[below(values.length)] ?? values[0];

const units = ["a", "Z", "7", "/", " ", "é", "ÿ", "😀", "\u007f", "\u0085", "\u2028"] as const;
const escaped = ['"', "\\", "\n", "\r", "\t", "\b", "\f", "\0", "\u001b", "\u001f"] as const;

it("the access line is byte for byte what pino writes, for 20,000 random requests and callbacks", () => {
  for (let n = 0; n < 20_000; n++) {
    const event = n % 2 === 0 ? drawRequest() : drawCallback();
    const line = writeAccessLine(event, levelOf(event), time);
    if (line !== writeByPino(event)) expect(line).toBe(writeByPino(event));
  }
});

it("the access line keeps half of a surrogate pair, which UTF-8 cannot encode, as a JSON escape", () => {
  const line = writeAccessLine({ ...drawRequest(), reference: "a\ud800b" }, "info", time);
  expect(Buffer.from(line).toString()).toBe(line);
  expect(JSON.parse(line)).toMatchObject({ reference: "a\ud800b", time, event: "request_finished" });
});

/** Writes the line by pino, as every other line of the log. */
function writeByPino(event: RequestFinished | CallbackFinished): string {
  const { kind, ...own } = event;
  const left = { operationLabel: undefined, callerName: undefined };
  const fields = { event: kind, ...own, ...left, callerLeft: event.callerLeft || undefined };
  const round = (value: unknown) => (typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value);
  const [level, message] = headline(event);
  logger[level](Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, round(value)])), message);
  return written;
}

/** A random text: mostly short, sometimes hostile. */
function drawText(): string {
  const length = pick(0, 1, 8, 20, 99, 101, 150);
  const isHostile = random() < 0.3;
  return Array.from({ length }, () => (isHostile && random() < 0.1 ? pick(...escaped) : pick(...units))).join("");
}

function drawMs(): number {
  return pick(0, 0.0004, 0.0005, 0.001, 0.9995, 1, 1.005, 999.9999, 1e-9, 86_400_000, random(), random() * 40_000);
}

/** A random callback with every field, in the order of the line. */
function drawCallback(): CallbackFinished {
  const text = () => pick("S1000000001", "/callbacks", drawText());
  const maybe = <Value>(draw: () => Value) => (random() < 0.3 ? undefined : draw());
  const drawn: Required<CallbackFinished> = {
    kind: "callback_finished",
    environment: text(),
    requestId: text(),
    callerRequestId: maybe(text),
    traceId: maybe(text),
    method: maybe(text),
    target: maybe(text),
    listener: text(),
    caller: maybe(text),
    callerAddress: maybe(text),
    result: pick("delivered", "declined", "repeated", ...forgeryReasons, ...failureCodes),
    status: pick(200, 204, 401, 502),
    outcome: pick("answered", "not_sent", "unknown"),
    durationMs: drawMs(),
    callerLeft: pick(true, false),
    form: pick(undefined, "json", "form", "query"),
    requestBytes: maybe(() => below(1e7)),
    site: maybe(text),
    key: maybe(text),
    applicationMs: maybe(drawMs),
    isGuarded: pick(undefined, true, false),
    responseBytes: maybe(() => below(1e7)),
    unknownSite: maybe(text),
    server: maybe(text),
    cause: maybe(text),
    code: pick(undefined, ...failureCodes),
  };
  return drawn;
}

/** A random event with every field, in the order in which a request gets its fields. */
function drawRequest(): RequestFinished {
  const text = () => pick("S1000000001", "create_order", drawText());
  const maybe = <Value>(draw: () => Value) => (random() < 0.3 ? undefined : draw());
  const drawn: Required<RequestFinished> = {
    kind: "request_finished",
    environment: text(),
    requestId: text(),
    traceId: maybe(text),
    spanId: maybe(text),
    reference: maybe(text),
    site: maybe(text),
    auth: pick(undefined, "hmac", "oauth"),
    operation: maybe(text),
    operationLabel: text(),
    status: below(1_000),
    by: pick("service", "countersign"),
    outcome: pick("not_sent", "answered", "unknown"),
    code: maybe(() => pick(failureCodes[0] ?? "internal", ...failureCodes)),
    stage: pick("read_head", "send", "stream_answer"),
    attempts: below(3),
    retry: maybe(() => pick(...retryResults)),
    retryReason: maybe(() => pick(...noRetryReasons)),
    durationMs: drawMs(),
    upstreamMs: maybe(drawMs),
    overheadMs: drawMs(),
    callerLeft: pick(true, false),
    method: maybe(text),
    target: maybe(text),
    listener: maybe(text),
    caller: maybe(text),
    callerAddress: maybe(text),
    callerRequestId: maybe(text),
    callerName: maybe(text),
    requestBytes: maybe(() => below(10_000_000)),
    tokenWaitMs: maybe(drawMs),
    credential: maybe(text),
    key: maybe(text),
    bridged: maybe(() => pick(...tokenOutages)),
    callerSignature: maybe(() => pick(...callerSignatureResults)),
    once: maybe(() => pick(...onceResults)),
    onceFirst: maybe(text),
    onceName: undefined,
    connectMs: maybe(drawMs),
    upstreamHeaders: maybe(() => ({ "x-request-id": text(), [text()]: text() })),
    location: maybe(text),
    contentType: maybe(text),
    server: maybe(text),
    cause: maybe(text),
    responseBytes: maybe(() => below(10_000_000)),
  };
  return drawn;
}
