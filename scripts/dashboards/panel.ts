import * as bargauge from "@grafana/grafana-foundation-sdk/bargauge";
import * as common from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import * as stat from "@grafana/grafana-foundation-sdk/stat";
import * as table from "@grafana/grafana-foundation-sdk/table";
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";
import { prometheus } from "./promql.ts";

export const columns = 24;

/** A query, and the name of each of its series; `{{label}}` stands for a label's value. */
type Query = readonly [expr: string, legend: string];
/** Each colour applies from its value on; the first colour applies below all values. */
type Steps = readonly [string, ...(readonly [from: number, color: string])[]];

/** What every panel has. */
export interface PanelText {
  readonly title: string;
  /** What the panel shows, and how to judge it. */
  readonly description: string;
  /** Alerts on what it shows; the panel links to their pages. */
  readonly alerts?: readonly string[];
  /** An id of Grafana's list of units. */
  readonly unit: string;
  /** Of 24; default: its share of the row. */
  readonly width?: number;
  readonly queries: readonly Query[];
  readonly decimals?: number;
  readonly steps?: Steps;
}

type AnyPanel = stat.PanelBuilder | timeseries.PanelBuilder | bargauge.PanelBuilder | table.PanelBuilder;

export interface BigNumber extends PanelText {
  /** Shown if there is no value, because nothing happened. */
  readonly noValue?: string;
  readonly link?: { readonly title: string; readonly url: string };
}

/** Numbers of this moment, large enough to read from afar. Over a range Grafana would show the last point, however old. */
export function bigNumber(panel: BigNumber): Panel {
  const { noValue, link, steps } = panel;
  const builder = new stat.PanelBuilder()
    .colorMode(steps === undefined ? common.BigValueColorMode.None : common.BigValueColorMode.Background)
    .graphMode(common.BigValueGraphMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]));
  if (noValue !== undefined) builder.noValue(noValue);
  const built = describe(builder, panel, "instant").build();
  if (link === undefined || built.fieldConfig === undefined) return built;
  // The builder's type is that of dashboard links; a data link has only these fields.
  return {
    ...built,
    fieldConfig: { ...built.fieldConfig, defaults: { ...built.fieldConfig.defaults, links: [link as never] } },
  };
}

/** The values of this moment side by side, in the order of the query. */
export function bars(panel: PanelText & { readonly noValue?: string; readonly max?: number }): Panel {
  const builder = new bargauge.PanelBuilder()
    .min(0)
    .orientation(common.VizOrientation.Horizontal)
    .displayMode(common.BarGaugeDisplayMode.Basic)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]));
  if (panel.noValue !== undefined) builder.noValue(panel.noValue);
  if (panel.max !== undefined) builder.max(panel.max);
  return describe(builder, panel, "instant").build();
}

/** Curves over time. */
export function curves(panel: PanelText & { readonly isStacked?: boolean; readonly mayBeNegative?: boolean }): Panel {
  const builder = new timeseries.PanelBuilder()
    .fillOpacity(panel.isStacked === true ? 30 : 0)
    .showPoints(common.VisibilityMode.Never)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    );
  if (panel.mayBeNegative !== true) builder.min(0);
  if (panel.isStacked === true) builder.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal));
  if (panel.steps !== undefined) {
    builder.thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Dashed),
    );
  }
  return describe(builder, panel, "range").build();
}

/** One row for each series, its labels as columns; the value has the panel's unit. `name` is of `withNames`. */
export function list(panel: PanelText & { readonly valueName: string; readonly hidden?: readonly string[] }): Panel {
  const excludeByName = Object.fromEntries(["Time", ...(panel.hidden ?? [])].map((name) => [name, true]));
  const builder = new table.PanelBuilder().withTransformation({
    id: "organize",
    options: { excludeByName, renameByName: { name: "pod", Value: panel.valueName } },
  });
  return describe(builder, panel, "table").build();
}

function describe<Builder extends AnyPanel>(
  builder: Builder,
  panel: PanelText,
  ask: "instant" | "range" | "table",
): Builder {
  builder
    .title(panel.title)
    .description(panel.description)
    .unit(panel.unit)
    .span(panel.width ?? columns)
    .links((panel.alerts ?? []).map(linkToPage))
    .datasource(prometheus);
  if (panel.decimals !== undefined) builder.decimals(panel.decimals);
  if (panel.steps !== undefined) builder.thresholds(thresholds(panel.steps));
  builder.targets(panel.queries.map(([expr, legend], index) => query(expr, legend, index, ask)));
  return builder;
}

function linkToPage(alert: string): DashboardLinkBuilder {
  // The chart replaces the part before `docs` by rules.runbookBaseUrl.
  const url = `https://github.com/countersign/countersign/blob/main/docs/alerts/${alert}.md`;
  return new DashboardLinkBuilder(alert).type(DashboardLinkType.Link).url(url).targetBlank(true);
}

function query(expr: string, legend: string, index: number, ask: "instant" | "range" | "table"): DataqueryBuilder {
  const builder = new DataqueryBuilder()
    .refId(String.fromCharCode(65 + index))
    .datasource(prometheus)
    .expr(expr)
    .legendFormat(legend)
    .format(ask === "table" ? PromQueryFormat.Table : PromQueryFormat.TimeSeries);
  return ask === "range" ? builder.range() : builder.instant();
}

function thresholds([first, ...later]: Steps): ThresholdsConfigBuilder {
  const steps = [{ value: null, color: first }, ...later.map(([value, color]) => ({ value, color }))];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}
