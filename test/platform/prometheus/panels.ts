import type { Dashboard, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";

/** A panel that is no row, and what it asks. */
export interface QueriedPanel {
  readonly panel: Panel;
  readonly queries: readonly Dataquery[];
}

export function queriedPanels({ panels = [] }: Dashboard): readonly QueriedPanel[] {
  return panels
    .filter((panel): panel is Panel => panel.type !== "row")
    .map((panel) => ({ panel, queries: (panel.targets ?? []) as unknown as Dataquery[] }));
}
