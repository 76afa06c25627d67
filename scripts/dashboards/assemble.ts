import {
  type AnnotationQuery,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
  type RowPanel,
  type VariableModel,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { inJob } from "./promql.ts";
import { prometheus } from "./variables.ts";

/** Panels from left to right; they go on below where the 24 columns are full. */
export interface Row {
  readonly title: string;
  readonly height: number;
  readonly panels: readonly Panel[];
}

interface Builder<Thing> {
  build(): Thing;
}

/** A line through all panels where a configuration became active. */
const reloads = annotation(
  "Reloads",
  "blue",
  `changes(countersign_config_last_reload_success_timestamp_seconds{${inJob}}[$__interval]) > 0`,
  "{{job}} {{instance}} reloaded",
);
/** And where a pod began to run another version. */
const deployments = annotation(
  "Deployments",
  "purple",
  `count by (cluster, namespace, job, version) (countersign_build_info{${inJob}}) unless count by (cluster, namespace, job, version) (countersign_build_info{${inJob}} offset $__interval)`,
  "{{job}} runs {{version}}",
);

const columns = 24;
const tag = "countersign";

/** A dashboard of rows, with links to the others of the same tag. */
export function assemble(
  title: string,
  uid: string,
  description: string,
  variables: readonly Builder<VariableModel>[],
  rows: readonly Row[],
): Dashboard {
  const others = new DashboardLinkBuilder("Countersign").type(DashboardLinkType.Dashboards).tags([tag]);
  const dashboard = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags([tag])
    .timezone("browser")
    .refresh("30s")
    .time({ from: "now-6h", to: "now" })
    .tooltip(DashboardCursorSync.Crosshair)
    .variables([...variables])
    .link(others.includeVars(true).keepTime(true))
    .build();
  return { ...dashboard, annotations: { list: [reloads, deployments] }, panels: placed(rows) };
}

function annotation(name: string, iconColor: string, expr: string, titleFormat: string): AnnotationQuery {
  return { name, iconColor, expr, titleFormat, datasource: prometheus, enable: true };
}

function placed(rows: readonly Row[]): (Panel | RowPanel)[] {
  const panels: (Panel | RowPanel)[] = [];
  let y = 0;
  for (const { title, height, panels: ofRow } of rows) {
    panels.push({
      type: "row",
      id: panels.length + 1,
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: columns, h: 1 },
    });
    y += 1;
    let x = 0;
    for (const panel of ofRow) {
      const w = panel.gridPos?.w ?? columns;
      if (x + w > columns) {
        x = 0;
        y += height;
      }
      panels.push({ ...panel, id: panels.length + 1, gridPos: { x, y, w, h: height } });
      x += w;
    }
    y += height;
  }
  return panels;
}
