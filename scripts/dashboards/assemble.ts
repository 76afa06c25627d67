import {
  type AnnotationQuery,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  type Panel,
  QueryVariableBuilder,
  type RowPanel,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { columns } from "./panel.ts";
import { inEnvironment, inJob, inNamespace, ofAllPods, prometheus, withApplications, withNames } from "./promql.ts";

/** Panels from left to right; they continue below when the 24 columns are full. */
export interface Row {
  readonly title: string;
  /** Default: 8. */
  readonly height?: number;
  readonly panels: readonly Panel[];
}

/** A line through all panels where a configuration became active. */
const reloads = annotation(
  "Reloads",
  "blue",
  withNames(`changes(countersign_config_last_reload_success_timestamp_seconds{${inJob}}[$__interval]) > 0`),
  "{{name}} reloaded",
);
/** A line where a pod began to run another version. */
const deployments = annotation(
  "Deployments",
  "purple",
  withApplications(
    `count by (cluster, namespace, job, version) (countersign_build_info{${inJob}}) unless count by (cluster, namespace, job, version) (countersign_build_info{${inJob}} offset $__interval)`,
  ),
  "{{application}} runs {{version}}",
);

const tag = "countersign";

const datasource = new DatasourceVariableBuilder("datasource").label("Prometheus").type("prometheus");
/** The data source for the link of unknown outcomes. */
const logs = new DatasourceVariableBuilder("logs").label("Logs").type("loki");
/** Also of pods that are gone. */
const pods = `query_result(group by (instance, pod) (last_over_time(countersign_build_info{${ofAllPods}}[$__range])))`;
const choices = [
  // Prometheus servers with the metrics of several clusters have this label; on other servers no series has it.
  choice("cluster", "Cluster", "countersign_build_info").allValue(".*"),
  // Absent outside of Kubernetes.
  choice("namespace", "Namespace", 'countersign_build_info{cluster=~"$cluster"}').allValue(".*"),
  choice("job", "Application", `countersign_build_info{${inNamespace}}`),
  // Panels select by address, which every series has; the list shows the pod's name, where there is one.
  variable("instance", "Pod", pods).regex('/pod="(?<text>[^"]+)|instance="(?<value>[^"]+)/g').allValue(".*"),
  choice("environment", "Environment", `countersign_requests_in_flight_limit{${inJob}}`),
  choice("site", "Site", `countersign_unknown_outcomes_total{${inEnvironment}}`),
  // Where metrics name no sites, this metric has the value `all`, and the gauges of credential sets are absent.
  choice("credential", "Credential", `countersign_token_requests_total{${inEnvironment}}`),
];

function choice(name: string, label: string, series: string): QueryVariableBuilder {
  return variable(name, label, `label_values(${series}, ${name})`);
}

/** Any number of the values that a query finds; all of them at first. */
function variable(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(prometheus)
    .query({ query, refId: name })
    .definition(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.NaturalAsc)
    .multi(true)
    .includeAll(true)
    .current({ text: ["All"], value: ["$__all"] });
}

/** Those that a panel of the dashboard uses: a list that changes nothing would mislead. */
function choicesOf(rows: readonly Row[]): QueryVariableBuilder[] {
  const panels = JSON.stringify(rows);
  return choices.filter((each) => panels.includes(`$${each.build().name}`));
}

/**
 * A dashboard of rows, with links to the other dashboards of the same tag.
 * @param hasLogs whether a panel leads to log lines
 */
export function assemble(
  title: string,
  uid: string,
  description: string,
  rows: readonly Row[],
  hasLogs = false,
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
    .variables([datasource, ...(hasLogs ? [logs] : []), ...choicesOf(rows)])
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
  for (const { title, height = 8, panels: ofRow } of rows) {
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
      const given = panel.gridPos?.w ?? columns;
      const w = given < columns ? given : columns / ofRow.length;
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
