import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { inEnvironment, inJob, inNamespace } from "./promql.ts";

/** The Prometheus that all panels ask. */
export const prometheus = { type: "prometheus", uid: "$datasource" };

export const datasource = () => new DatasourceVariableBuilder("datasource").label("Prometheus").type("prometheus");

/** Where the link of unknown outcomes leads. */
export const logs = () => new DatasourceVariableBuilder("logs").label("Logs").type("loki");

/** Prometheus servers that gather several clusters have this label; elsewhere every series is without it. */
export const cluster = () =>
  choice("cluster", "Cluster", "label_values(countersign_build_info, cluster)").allValue(".*");
/** Absent outside of Kubernetes. */
export const namespace = () =>
  choice("namespace", "Namespace", 'label_values(countersign_build_info{cluster=~"$cluster"}, namespace)').allValue(
    ".*",
  );
export const job = () => choice("job", "Application", `label_values(countersign_build_info{${inNamespace}}, job)`);
export const environment = () =>
  choice("environment", "Environment", `label_values(countersign_requests_in_flight_limit{${inJob}}, environment)`);
export const site = () =>
  choice("site", "Site", `label_values(countersign_unknown_outcomes_total{${inEnvironment}}, site)`);
export const credential = () =>
  choice("credential", "Credential", `label_values(countersign_credential_info{${inEnvironment}}, credential)`);

/** Any number of a label's values; all of them at first. */
function choice(name: string, label: string, query: string): QueryVariableBuilder {
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
