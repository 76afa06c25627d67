import { hostname } from "node:os";
import type { AdminViews } from "../adapters/http-server/admin.ts";
import type { StatusViews } from "../adapters/http-server/status.ts";
import { createCounting } from "../adapters/prometheus/count.ts";
import { contentTypes, writeExposition } from "../adapters/prometheus/exposition.ts";
import { createMetrics } from "../adapters/prometheus/metrics.ts";
import { type ConfiguredListener, createShowConfigured } from "../adapters/prometheus/show-configured.ts";
import { type OpenConnections, showConnections } from "../adapters/prometheus/show-connections.ts";
import { createStartAtZero } from "../adapters/prometheus/start-at-zero.ts";
import { StatusModel } from "../adapters/status/model.ts";
import { renderPage } from "../adapters/status/page/render-page.ts";
import { Readiness, type ReadinessView } from "../adapters/status/readiness.ts";
import type { StatusSnapshot } from "../adapters/status/snapshot.ts";
import type { Config, ListenerConfig } from "../config/config.ts";
import { explain } from "../config/explain.ts";
import { describeBind } from "../model/bind.ts";
import type { Environment } from "../model/environment.ts";
import type { Report } from "../model/events.ts";
import type { BufferBudget } from "../proxy/buffer-budget.ts";
import { version } from "../version.ts";
import { redisNodes } from "./cache.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Reloadable } from "./reloadable.ts";

interface Views extends AdminViews, StatusViews {
  readiness(): ReadinessView;
}

/** Everything that listens to the facts and shows them to people and machines. */
export interface Observers extends Reloadable {
  readonly report: Report;
  readonly views: Views;
}

/** What is asked whenever somebody wants to know. */
export interface Observed {
  readonly inForce: () => Config;
  readonly connections: () => readonly OpenConnections[];
  readonly budget: BufferBudget;
}

export function openObservers(
  { inForce, connections, budget }: Observed,
  { clock, report: outside, droppedLogLines }: Dependencies,
): Observers {
  const metrics = createMetrics();
  const startAtZero = createStartAtZero(metrics);
  const showConfigured = createShowConfigured(metrics);
  const count = createCounting(metrics, clock);
  const board = new StatusModel(clock);
  const readiness = new Readiness([], clock);
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
    commit(config) {
      const environments = [...config.environments.values()];
      follow(environments, redisNodes(config));
      const inFlightLimit = config.limits.inFlightPerEnvironment;
      const listeners = config.listeners.map(describeListener);
      showConfigured({ environments, inFlightLimit, listeners, redis: board.view().redis });
      readiness.follow(config.readiness === "token" ? environments : [], config.reload.unreadyAfterRefusalMs);
    },
    report(event) {
      count(event);
      board.report(event);
      readiness.report(event);
      outside(event);
    },
    views: {
      readiness: () => readiness.view(),
      metrics: async (format) => {
        showConnections(metrics, connections(), inForce().limits.connections);
        metrics.logLinesDropped.reset();
        metrics.logLinesDropped.inc(droppedLogLines?.() ?? 0);
        metrics.bufferedBytes.set(budget.usedBytes);
        metrics.bufferedBytesLimit.set(budget.limitBytes);
        return { contentType: contentTypes[format], text: await writeExposition(metrics.registry, format) };
      },
      snapshot,
      page: (refreshSeconds) => renderPage(snapshot(), refreshSeconds),
    },
  };
}

function describeListener({ bind, environment, callers }: ListenerConfig): ConfiguredListener {
  return { name: describeBind(bind), environment, tls: callers?.kind === "mtls" ? callers.tls : undefined };
}
