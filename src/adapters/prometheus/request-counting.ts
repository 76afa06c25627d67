import type { Clock } from "../../model/clock.ts";
import type { FailureCode } from "../../model/errors.ts";
import { type RequestFinished, statusClass } from "../../model/events.ts";
import type { Metrics } from "./metrics.ts";
import { type Exemplar, onceForEach } from "./series.ts";

/** Counts how requests end. Label values come from the configuration or a short list, and a status has three digits. */
export function createRequestCounting(
  metrics: Metrics,
  clock: Pick<Clock, "wallMs">,
): (event: RequestFinished) => void {
  /** Requests that end alike have the same series. */
  const seriesOf = onceForEach(
    (
      environment: string,
      site: string,
      auth: string,
      operation: string,
      status: number,
      by: RequestFinished["by"],
      outcome: RequestFinished["outcome"],
    ) => ({
      requests: metrics.requests.series({ environment, site, auth, operation, status: String(status), by, outcome }),
      answers: metrics.answers.series({ environment, auth, by, status_class: statusClass(status) }),
      requestDuration: metrics.requestDuration.series({ environment, operation }),
      overhead: metrics.overhead.series({ environment, operation }),
      // A series appears with its first value.
      upstreamDuration: onceForEach(() => metrics.upstreamDuration.series({ environment, operation })),
      tokenWait: onceForEach(() => metrics.tokenWait.series({ environment })),
    }),
  );
  const callerSeriesOf = onceForEach((listener: string, caller: string, outcome: string) =>
    metrics.callerRequests.series({ listener, caller, outcome }),
  );
  return (event) => {
    const { environment, operationLabel, status, by, outcome, code } = event;
    const site = event.site ?? "none";
    const series = seriesOf(environment, site, event.auth ?? "none", operationLabel, status, by, outcome);
    series.requests.inc();
    series.answers.inc();
    if (outcome === "unknown") metrics.unknownOutcomes.inc({ environment, site });
    if (event.callerSignature !== undefined) {
      metrics.callerSignatures.inc({ environment, site, result: event.callerSignature });
    }
    if (event.once !== undefined) metrics.once.inc({ environment, result: event.once });
    if (code !== undefined) metrics.failures.inc({ environment, site, code, outcome });
    const { listener, callerName, tokenWaitMs, upstreamMs } = event;
    if (listener !== undefined && callerName !== undefined) {
      callerSeriesOf(listener, callerName, outcome).inc();
      if (isCallerRefusal(code)) metrics.callerRefusals.inc({ listener, caller: callerName, code });
    }
    const exemplar = event.spanId === undefined ? undefined : exemplarOf(event, event.spanId, clock);
    series.requestDuration.observe(event.durationMs / 1_000, exemplar);
    series.overhead.observe(event.overheadMs / 1_000, exemplar);
    if (upstreamMs !== undefined) series.upstreamDuration().observe(upstreamMs / 1_000, exemplar);
    if (tokenWaitMs !== undefined) series.tokenWait().observe(tokenWaitMs / 1_000, exemplar);
  };
}

/** Why a caller that is known can be refused. */
export const callerRefusals = ["caller_not_allowed", "caller_rate_limited"] as const;

function isCallerRefusal(code: FailureCode | undefined): code is (typeof callerRefusals)[number] {
  return callerRefusals.some((refusal) => refusal === code);
}

/** Leads from a bucket to a trace that is recorded. */
function exemplarOf({ traceId }: RequestFinished, spanId: string, clock: Pick<Clock, "wallMs">): Exemplar | undefined {
  return traceId === undefined ? undefined : { traceId, spanId, atMs: clock.wallMs() };
}
