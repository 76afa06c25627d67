import type { Metrics } from "./metrics.ts";

/** How many connections a listener has open. */
export interface OpenConnections {
  /** Where it listens, as configured. */
  readonly listener: string;
  readonly open: number;
}

/**
 * Shows the open connections beside their limit. Asked at each scrape, so that no connection has to be counted twice.
 * @param limit `limits.connections`, of each listener
 */
export function showConnections(metrics: Metrics, all: readonly OpenConnections[], limit: number): void {
  metrics.connections.reset();
  metrics.connectionsLimit.reset();
  for (const { listener, open } of all) {
    // Several listeners may ask for a free port, under one name.
    metrics.connections.inc({ listener }, open);
    metrics.connectionsLimit.inc({ listener }, limit);
  }
}
