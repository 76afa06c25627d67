// Parts of the panels' queries. `$job` and the like are the dashboards' variables (assemble.ts).

/** The Prometheus that all panels query. */
export const prometheus = { type: "prometheus", uid: "$datasource" };

export const inNamespace = 'cluster=~"$cluster", namespace=~"$namespace"';
/** All pods, whichever are chosen. */
export const ofAllPods = `${inNamespace}, job=~"$job"`;
export const inJob = `${ofAllPods}, instance=~"$instance"`;
export const inEnvironment = `${inJob}, environment=~"$environment"`;
export const ofSite = `${inEnvironment}, site=~"$site"`;
export const ofCredential = `${inEnvironment}, credential=~"$credential"`;

/** Labels that identify a pod. */
const pod = "cluster, namespace, job, instance";

/** Events a second; by default over the interval that Grafana chooses for the width of the panel. */
export function rate(metric: string, matchers: string, interval = "$__rate_interval"): string {
  return `rate(${metric}{${matchers}}[${interval}])`;
}

/**
 * The growth of a counter within so many hours, also in pods that are gone. increase() cannot see the events before a pod's
 * first scrape, such as its first token, and extrapolates. So of a process younger than the window the whole count is used, which is
 * exact: all of it is from within the window. A container that has restarted has a count from before that too, which increase() sees.
 */
export function counted(metric: string, matchers: string, hours: number): string {
  const selector = `${metric}{${matchers}}[${hours}h]`;
  const started = `process_start_time_seconds{${inJob}}[${hours}h]`;
  const ofYoung = `last_over_time(${selector}) and on (${pod}) last_over_time(${started}) > time() - ${hours * 3_600}`;
  const exact = `(${ofYoung} unless on (${pod}) changes(${started}) > 0)`;
  return `(${exact} or (${ofYoung}) > increase(${selector}) or increase(${selector}) or (${ofYoung}))`;
}

/**
 * The series of pods with a label `name`: the pod's own name where Prometheus discovers pods, else its address; behind its
 * namespace, if it has one.
 */
export function withNames(expr: string): string {
  const withAddresses = `label_replace(${expr}, "name", "$1", "instance", "(.+)")`;
  return behindNamespace(`label_replace(${withAddresses}, "name", "$1", "pod", "(.+)")`, "name", "name");
}

/** The series of applications with a label `application`: the job, behind its namespace, if it has one. */
export function withApplications(expr: string): string {
  return behindNamespace(expr, "application", "job");
}

function behindNamespace(expr: string, label: string, of: string): string {
  return `label_replace(label_join(${expr}, "${label}", "/", "namespace", "${of}"), "${label}", "$1", "${label}", "/(.+)")`;
}

/** A quantile of a histogram's rate; absent if nothing was observed. */
export function quantile(share: number, metric: string, matchers: string, by: readonly string[] = []): string {
  return `histogram_quantile(${share}, sum by (${["le", ...by].join(", ")}) (${rate(`${metric}_bucket`, matchers)})) >= 0`;
}

/** Series above 0; if there are none, one line at 0 that says so, as long as there are pods. */
export function aboveZero(expr: string, label: string, none: string): string {
  return `${expr} > 0 or on () label_replace(0 * sum(countersign_build_info{${inJob}}), "${label}", "${none}", "", "")`;
}

/**
 * A query for events a second, by these labels; series are named by their labels' values. If there are none, one line at 0
 * says so.
 * @param label the label whose value then says that there are none; default: the last
 */
export function events(
  metric: string,
  matchers: string,
  by: readonly string[],
  { none = "none", label = by.at(-1) ?? "", legend = by.map((each) => `{{${each}}}`).join(" ") } = {},
): readonly [expr: string, legend: string] {
  return [aboveZero(`sum by (${by.join(", ")}) (${rate(metric, matchers)})`, label, none), legend];
}

/** Absent if the whole is 0, instead of 0 / 0; 0 if only the part is absent. */
export function share(part: string, whole: string): string {
  return `(${part} or 0 * ${whole}) / ${whole} >= 0`;
}

/** Countersign's own answers that are not caused by a caller's mistake. */
export const ownFailure = 'by="countersign", status=~"5.."';
