import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { overview } from "./overview.ts";
import { processes } from "./processes.ts";
import { tokens } from "./tokens.ts";

/** Each dashboard by the file to which it is written. */
export const dashboards: Readonly<Record<string, Dashboard>> = {
  "helm/countersign/files/dashboards/overview.json": overview,
  "helm/countersign/files/dashboards/tokens.json": tokens,
  "helm/countersign/files/dashboards/process.json": processes,
};

export function textOf(dashboard: Dashboard): string {
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
