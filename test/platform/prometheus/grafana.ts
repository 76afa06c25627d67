import type { Dashboard, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";
import type { RunningPrometheus } from "./running-prometheus.ts";

/** A panel that is no row, and its queries. */
export interface QueriedPanel {
  readonly panel: Panel;
  readonly queries: readonly Dataquery[];
}

export function queriedPanels({ panels = [] }: Dashboard): readonly QueriedPanel[] {
  return panels
    .filter((panel): panel is Panel => panel.type !== "row")
    .map((panel) => ({ panel, queries: (panel.targets ?? []) as unknown as Dataquery[] }));
}

/** Puts values in the place of a query's variables, as Grafana does. */
export type Substitute = (expr: string) => string;

/**
 * Fills a dashboard's variables with all values in Prometheus, one after another, since the queries of later variables use the
 * values of earlier ones. "All" stands for the list of values, which Grafana writes as a regular expression.
 * @throws Error for a variable without a value
 */
export async function fillVariables(dashboard: Dashboard, prometheus: RunningPrometheus): Promise<Substitute> {
  const values = new Map(Object.entries(builtIn));
  const substitute: Substitute = (expr) =>
    expr.replace(/\$([a-z_]\w*)/g, (_, name: string) => {
      const value = values.get(name);
      if (value === undefined) throw new Error(`no variable ${name} in ${expr}`);
      return value;
    });
  for (const { type, name, definition = "", allValue } of dashboard.templating.list ?? []) {
    if (type !== "query") continue;
    if (allValue !== undefined) {
      values.set(name, allValue);
      continue;
    }
    const [, selector = "", label = ""] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
    const series = await prometheus.query(`group by (${label}) (${substitute(selector)})`);
    const found = series.map(({ metric }) => forRegExp(metric[label] ?? ""));
    if (found.length === 0) throw new Error(`${definition} finds nothing`);
    values.set(name, found.length === 1 ? found.join("") : `(${found.join("|")})`);
  }
  return substitute;
}

/**
 * The choices of a variable with `query_result` and a regular expression: each text with its value. As Grafana does, it
 * searches the text of each series for the groups `text` and `value`; one of them stands for the other if that found nothing.
 */
export async function choicesOf(
  dashboard: Dashboard,
  name: string,
  prometheus: RunningPrometheus,
): Promise<Record<string, string>> {
  const substitute = await fillVariables(dashboard, prometheus);
  const variable = dashboard.templating.list?.find((each) => each.name === name);
  const [, expr = ""] = /^query_result\((.+)\)$/.exec(variable?.definition ?? "") ?? [];
  const [, pattern = "", flags] = /^\/(.+)\/(\w*)$/.exec(variable?.regex ?? "") ?? [];
  const series = await prometheus.query(substitute(expr));
  const choices = series.map(({ metric, value }) => {
    const labels = Object.entries(metric).map(([label, of]) => `${label}="${of}"`);
    const found = [...`{${labels.join(",")}} ${value?.[1]}`.matchAll(new RegExp(pattern, flags))];
    const group = (wanted: string) => found.find(({ groups }) => groups?.[wanted])?.groups?.[wanted];
    const [text, chosen] = [group("text"), group("value")];
    return [text ?? chosen, chosen ?? text];
  });
  return Object.fromEntries(choices);
}

/** Grafana's `$__rate_interval` is never less than the step and one scrape: here that of a picture of a day. */
const builtIn = { __rate_interval: "90s", __range: "120s" };

/** A value as Grafana escapes it, once for the regular expression and once for the string around it. */
function forRegExp(value: string): string {
  return value.replace(/[\\^$*+?.()|[\]{}]/g, "\\\\$&");
}
