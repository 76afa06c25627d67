import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { overview } from "./overview.ts";
import { processes } from "./processes.ts";
import { tokens } from "./tokens.ts";

/** By the file that each is written to. */
export const dashboards: Readonly<Record<string, Dashboard>> = {
  "deploy/grafana/dashboards/overview.json": overview,
  "deploy/grafana/dashboards/tokens.json": tokens,
  "deploy/grafana/dashboards/process.json": processes,
};

export function textOf(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
