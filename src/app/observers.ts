import { createMetrics } from "../adapters/stats/metrics.ts";
import { renderPage } from "../adapters/stats/page/render-page.ts";
import { createReadiness } from "../adapters/stats/readiness.ts";
import { contentTypes, type ExpositionFormat, writeExposition } from "../adapters/stats/series.ts";
import type { Configured, Source } from "../adapters/stats/source.ts";
import { startAtZero } from "../adapters/stats/start-at-zero.ts";
import { createStats } from "../adapters/stats/stats.ts";
import type { Config } from "../config/config.ts";
import { explain } from "../config/explain.ts";
import { createWallTime } from "../model/clock.ts";
import type { Event } from "../model/events.ts";
import { callersOf, callersTlsOf, describeBind } from "../model/listener.ts";
import type { Dependencies } from "./dependencies.ts";
import { redisNodes } from "./token-backend.ts";
import { createReadAssertion } from "./upstreams.ts";

/** The present state of the process, read from the parts that own it. */
export interface Snapshots
  extends Pick<Source, "routes" | "connections" | "inFlight" | "buffers" | "credentials" | "redis" | "unwritten"> {
  /** The active configuration. */
  config(): Config;
}

/** Everything that counts events, and shows counts and state to people and machines. */
export function openObservers(
  snapshots: Snapshots,
  { clock, report: outside, droppedLogLines = () => 0 }: Dependencies,
) {
  const { config: active } = snapshots;
  const source: Source = {
    ...snapshots,
    configured: () => describeConfig(active()),
    reload: () => stats.reload(),
    readAssertion: createReadAssertion(clock),
    droppedLogLines,
    wallTime: createWallTime(clock),
  };
  const metrics = createMetrics(source);
  const stats = createStats(source, metrics, clock);
  const readiness = createReadiness(clock);
  const snapshot = () => stats.view(readiness.view(), explain(active()));

  return {
    prepare(config: Config): void {
      startAtZero(metrics, describeConfig(config));
    },
    commit(config: Config): void {
      const environments = [...config.environments.values()];
      readiness.follow(config.readiness === "token" ? environments : [], config.reload.unreadyAfterRefusalMs);
    },
    report(event: Event): void {
      stats.report(event);
      readiness.report(event);
      outside(event);
    },
    findUnknown: stats.findUnknown,
    views: {
      readiness: () => readiness.view(),
      metrics: async (format: ExpositionFormat) => ({
        contentType: contentTypes[format],
        text: await writeExposition(metrics.registry, format),
      }),
      snapshot,
      page: async (address: string, refreshSeconds?: number) => renderPage(await snapshot(), address, refreshSeconds),
    },
  };
}

function describeConfig(config: Config): Configured {
  const { hash, docsUrl, environments, listeners, callbacks, limits, tracing, metrics } = config;
  const outbound = listeners.map(({ callers, ...listener }) => ({ ...listener, tls: callersTlsOf(callers) }));
  return {
    hash,
    docsUrl,
    environments: [...environments.values()],
    listeners: [...outbound, ...callbacks].map(({ bind, environment, tls }) => {
      return { name: describeBind(bind), environment, tls };
    }),
    callers: listeners.flatMap(({ bind, environment, callers }) =>
      callersOf(callers).map((caller) => ({ ...caller, environment, listener: describeBind(bind) })),
    ),
    callbacks: callbacks.map(({ bind, environment, application: { url } }) => {
      return { environment, listener: describeBind(bind), application: `${url.origin}${url.path}` };
    }),
    redisNodes: redisNodes(config),
    limits,
    isTraced: tracing !== undefined,
    namesSites: metrics.sites === "named",
  };
}
