import type { AdminViews } from "../adapters/node-http/admin.ts";
import { createCounting } from "../adapters/prometheus/count.ts";
import { createMetrics } from "../adapters/prometheus/metrics.ts";
import { startAtZero } from "../adapters/prometheus/start-at-zero.ts";
import { StatusBoard } from "../adapters/status/board.ts";
import { Readiness, type ReadinessView } from "../adapters/status/readiness.ts";
import type { Config } from "../config/config.ts";
import { explain } from "../config/explain.ts";
import type { Report } from "../events.ts";
import { version } from "../version.ts";
import { redisNodes } from "./cache.ts";
import type { Surroundings } from "./surroundings.ts";

interface ObservedViews extends AdminViews {
  readiness(): ReadinessView;
}

export interface Observers {
  readonly report: Report;
  readonly adminViews: ObservedViews;
  /** What `/status` shows. */
  readonly snapshot: () => object;
}

/** Everything that listens to the facts and shows them to people and machines. */
export function openObservers(config: Config, { clock, report: outside }: Surroundings): Observers {
  const environments = [...config.environments.values()];
  const metrics = createMetrics();
  startAtZero(metrics, environments, redisNodes(config));
  const count = createCounting(metrics, clock);
  const board = new StatusBoard(environments, clock);
  const readiness = new Readiness(config.readiness === "token" ? environments : []);
  const startedAt = new Date(clock.wallMs()).toISOString();
  return {
    report(event) {
      count(event);
      board.report(event);
      readiness.report(event);
      outside(event);
    },
    adminViews: {
      readiness: () => readiness.view(),
      metrics: async () => ({ contentType: metrics.registry.contentType, text: await metrics.registry.metrics() }),
    },
    snapshot: () => ({
      version,
      startedAt,
      configHash: config.hash,
      readiness: readiness.view(),
      ...board.snapshot(),
      configuration: explain(config),
    }),
  };
}
