import { hostname } from "node:os";
import type { AdminViews } from "../adapters/node-http/admin.ts";
import type { StatusViews } from "../adapters/node-http/status.ts";
import { createCounting } from "../adapters/prometheus/count.ts";
import { createMetrics } from "../adapters/prometheus/metrics.ts";
import { createShowConfigured } from "../adapters/prometheus/show-configured.ts";
import { createStartAtZero } from "../adapters/prometheus/start-at-zero.ts";
import { StatusBoard } from "../adapters/status/board.ts";
import { renderPage } from "../adapters/status/page/render-page.ts";
import { Readiness, type ReadinessView } from "../adapters/status/readiness.ts";
import type { StatusSnapshot } from "../adapters/status/snapshot.ts";
import type { Config } from "../config/config.ts";
import { explain } from "../config/explain.ts";
import type { Environment } from "../environment.ts";
import type { Report } from "../events.ts";
import type { ByteBudget } from "../journey/byte-budget.ts";
import { version } from "../version.ts";
import { redisNodes } from "./cache.ts";
import type { Room } from "./room.ts";
import type { Surroundings } from "./surroundings.ts";

interface Views extends AdminViews, StatusViews {
  readiness(): ReadinessView;
}

/** Everything that listens to the facts and shows them to people and machines. */
export interface Observers extends Room {
  readonly report: Report;
  readonly views: Views;
}

/** @param inForce asked whenever somebody wants to know what is configured */
export function openObservers(
  inForce: () => Config,
  { clock, report: outside, droppedLogLines }: Surroundings,
  budget: ByteBudget,
): Observers {
  const metrics = createMetrics();
  const startAtZero = createStartAtZero(metrics);
  const showConfigured = createShowConfigured(metrics);
  const count = createCounting(metrics, clock);
  const board = new StatusBoard(clock);
  const readiness = new Readiness([]);
  const formatNow = () => new Date(clock.wallMs()).toISOString();
  const startedAt = formatNow();
  const own = { version, runtime: process.version, host: hostname(), startedAt };
  const snapshot = (): StatusSnapshot => ({
    at: formatNow(),
    ...own,
    configHash: inForce().hash,
    readiness: readiness.view(),
    ...board.view(),
    configuration: explain(inForce()),
  });
  /** What comes is there before what goes has gone, so that the first fact about it is not lost. */
  const follow = (environments: readonly Environment[], nodes: readonly string[]) => {
    startAtZero(environments, nodes);
    board.follow(environments, nodes);
  };

  return {
    prepare(config) {
      const environments = [inForce(), config].flatMap(({ environments }) => [...environments.values()]);
      follow(environments, [...new Set([inForce(), config].flatMap(redisNodes))]);
    },
    use(config) {
      const environments = [...config.environments.values()];
      follow(environments, redisNodes(config));
      const inFlightLimit = config.limits.inFlightPerEnvironment;
      showConfigured({ environments, inFlightLimit, redis: board.view().redis });
      readiness.follow(config.readiness === "token" ? environments : []);
    },
    report(event) {
      count(event);
      board.report(event);
      readiness.report(event);
      outside(event);
    },
    views: {
      readiness: () => readiness.view(),
      async metrics() {
        metrics.logLinesDropped.reset();
        metrics.logLinesDropped.inc(droppedLogLines?.() ?? 0);
        metrics.bufferedBytes.set(budget.usedBytes);
        metrics.bufferedBytesLimit.set(budget.limitBytes);
        return { contentType: metrics.registry.contentType, text: await metrics.registry.metrics() };
      },
      snapshot,
      page: (refreshSeconds) => renderPage(snapshot(), refreshSeconds),
    },
  };
}
