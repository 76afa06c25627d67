import { openSync, writeSync } from "node:fs";
import { createLogging } from "countersign/adapters/log/logger";
import { createLineOutput } from "countersign/adapters/log/standard-output";
import { createCounting } from "countersign/adapters/prometheus/counting";
import { createMetrics } from "countersign/adapters/prometheus/metrics";
import { RequestStats } from "countersign/adapters/status/request-stats";
import { type Clock, systemClock } from "countersign/model/clock";
import type { Event, Report, RequestFinished } from "countersign/model/events";
import { openHandler, openRequestReader, openResponseReader, openSigning } from "./request-path.ts";

/** A piece of what every request takes. To add one, add it to the list. */
export interface Operation {
  readonly name: string;
  /** What it may cost, in calibrations (main.ts): about twice what it took when it was set. */
  readonly budget: number;
  /** Prepares it, and returns what runs it once. What returns a promise is awaited. */
  readonly open: () => () => void | Promise<void>;
}

export const operations: readonly Operation[] = [
  { name: "request reader", budget: 1.2, open: openRequestReader },
  { name: "body to signed body", budget: 6, open: openSigning },
  { name: "request handler", budget: 10, open: openHandler },
  { name: "response reader", budget: 1.2, open: openResponseReader },
  { name: "metrics", budget: 0.4, open: () => reportOrders(createCounting(createMetrics())) },
  { name: "status counters", budget: 0.3, open: openStatusCounters },
  { name: "access line", budget: 3, open: openAccessLine },
  {
    name: "no line at level warn",
    budget: 0.25,
    open: () => reportOrders(createLogging("warn", { write() {} }).report),
  },
];

function openStatusCounters(): () => void {
  const stats = new RequestStats(systemClock);
  return reportOrders((event) => {
    if (event.kind === "request_finished") stats.report(event);
  });
}

/** With its share of writing the batch. No timer fires within a measurement, so what is due in this turn runs after the line. */
function openAccessLine(): () => void {
  const descriptor = openSync("/dev/null", "w");
  let due: (() => void) | undefined;
  const clock: Clock = {
    ...systemClock,
    after(delayMs, task) {
      if (delayMs === 0) due = task;
      return () => {};
    },
  };
  const output = createLineOutput(
    (bytes) => writeSync(descriptor, bytes),
    clock,
    () => {},
  );
  const run = reportOrders(createLogging("info", output).report);
  return () => {
    run();
    const task = due;
    due = undefined;
    task?.();
  };
}

/** The events of one order that is signed, each time with another id and other times. */
function reportOrders(report: Report): () => void {
  let n = 0;
  return () => {
    n = (n + 1) % 1_000_000;
    const event = drawOrder(n);
    report({ kind: "request_accepted", environment: event.environment, requestId: event.requestId });
    const skew: Event = {
      kind: "clock_skew_measured",
      environment: event.environment,
      skewSeconds: (n % 1_000) / 1_000,
    };
    report(skew);
    report(event);
  };
}

function drawOrder(n: number): RequestFinished {
  return {
    kind: "request_finished",
    environment: "production",
    requestId: `01J9ZQ8W5T6Y7U8I9O0P${1_000_000 + n}`,
    traceId: undefined,
    reference: `A-${n}`,
    site: "S1000000003",
    auth: "hmac",
    operation: "create_order",
    operationLabel: "create_order",
    status: 200,
    by: "service",
    outcome: "answered",
    code: undefined,
    stage: "stream_answer",
    attempts: 1,
    admitted: true,
    durationMs: 1.2345678 + (n % 97) / 33,
    upstreamMs: 0.9876543 + (n % 53) / 37,
    overheadMs: 0.1234567 + (n % 11) / 101,
    callerLeft: false,
    method: "POST",
    target: "/create_order",
    listener: "127.0.0.1:7411",
    caller: undefined,
    callerAddress: "127.0.0.1",
    callerRequestId: undefined,
    callerName: undefined,
    requestBytes: 250,
    key: "K2000000001",
    connectMs: 0.0123456,
    upstreamHeaders: undefined,
    responseBytes: 22,
  };
}
