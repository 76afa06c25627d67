import { openSync, writeSync } from "node:fs";
import { createLogging } from "countersign/adapters/log/logger";
import { createLineOutput } from "countersign/adapters/log/standard-output";
import { createCounting } from "countersign/adapters/stats/counting";
import { createMetrics } from "countersign/adapters/stats/metrics";
import { RecentRequests } from "countersign/adapters/stats/recent-requests";
import { type Clock, systemClock } from "countersign/model/clock";
import type { Report, RequestFinished } from "countersign/model/events";
import { finishedRequest } from "../../testkit/finished-request.ts";
import { openHandler, openRequestReader, openResponseReader, openSigning, openTracedHandler } from "./request-path.ts";

/** A step of every request. Add a new one to the list. */
export interface Operation {
  readonly name: string;
  /** The most CPU, in calibrations (main.ts): about twice the measured value when the budget was set. */
  readonly budget: number;
  /** Prepares the operation, and returns a function that runs it once. A returned promise is awaited. */
  readonly open: () => () => void | Promise<void>;
}

export const operations: readonly Operation[] = [
  { name: "request reader", budget: 1.2, open: openRequestReader },
  { name: "body to signed body", budget: 6, open: openSigning },
  { name: "request handler", budget: 10, open: () => openHandler() },
  { name: "traced request handler", budget: 24, open: openTracedHandler },
  { name: "response reader", budget: 1.2, open: openResponseReader },
  { name: "counts", budget: 2.4, open: openCounting },
  { name: "access line", budget: 3, open: openAccessLine },
  {
    name: "no line at level warn",
    budget: 0.25,
    open: () => reportOrders(createLogging("warn", { write() {} }).report),
  },
];

function openCounting(): () => void {
  const recent = new RecentRequests();
  return reportOrders(createCounting(createMetrics(), () => recent, systemClock));
}

/** With its share of writing the batch. No timer fires within a measurement, so the task that is due runs after the line. */
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
  const event: { -readonly [Name in keyof RequestFinished]: RequestFinished[Name] } = finishedRequest({
    environment: "production",
    site: "S1000000003",
    method: "POST",
    target: "/create_order",
    listener: "127.0.0.1:7411",
    callerAddress: "127.0.0.1",
    requestBytes: 250,
    key: "K2000000001",
    connectMs: 0.0123456,
    responseBytes: 22,
  });
  const { environment } = event;
  let n = 0;
  return () => {
    n = (n + 1) % 1_000_000;
    event.requestId = `01J9ZQ8W5T6Y7U8I9O0P${1_000_000 + n}`;
    event.reference = `A-${n}`;
    event.durationMs = 1.2345678 + (n % 97) / 33;
    event.upstreamMs = 0.9876543 + (n % 53) / 37;
    event.overheadMs = 0.1234567 + (n % 11) / 101;
    report({ kind: "clock_skew_measured", environment, skewSeconds: (n % 1_000) / 1_000 });
    report(event);
  };
}
