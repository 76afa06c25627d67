import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { plainEnvironment, runSync } from "../../../testkit/run-program.ts";

export const rulesFile = "helm/countersign/files/rules.yaml";

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly keep_firing_for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Alert extends Rule {
  readonly alert: string;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

export const { groups } = parse(readFileSync(rulesFile, "utf8")) as RuleFile;

export const rules: readonly Rule[] = groups.flatMap((group) => group.rules);

/** The rules' file with one of its alerts, the alerts that silence it, and all recorded series; of annotations, those named. */
export function fileWithOnly(name: string, shown?: readonly string[]): RuleFile {
  const wanted = rules.find(({ alert }) => alert === name);
  const silencing = [...(wanted?.expr ?? "").matchAll(/ALERTS\{alertname=~?"([^"]+)"/g)];
  const names = [name, ...silencing.flatMap(([, those = ""]) => those.split("|"))];
  const isMeant = ({ alert, record }: Rule) => names.includes(alert ?? "") || record !== undefined;
  const shorten = ({ annotations = {}, ...rule }: Rule): Rule => {
    const kept = Object.entries(annotations).filter(([key]) => shown?.includes(key) ?? true);
    return { ...rule, ...(rule.alert === undefined ? {} : { annotations: Object.fromEntries(kept) }) };
  };
  const kept = groups.map((group) => ({ ...group, rules: group.rules.filter(isMeant).map(shorten) }));
  return { groups: kept.filter((group) => group.rules.length > 0) };
}

export const alerts: readonly Alert[] = rules.filter((rule): rule is Alert => rule.alert !== undefined);

/** The name of a series, and its matchers, if any; without a name, it selects by `__name__`. */
const vectorSelector = /(?<!")(\b(?:countersign|process|nodejs)[a-z0-9_:]+|\bup\b|(?=\{__name__))(\{[^}]*\})?/g;

/** The vector selectors of an expression, without their ranges. */
export function selectorsOf(expr: string): string[] {
  const found = expr.matchAll(vectorSelector);
  return [...new Set([...found].map(([, name = "", matchers = ""]) => name + matchers))];
}

/** Runs promtool; `said` has its output. A fifth of its time went to the collector of a heap that stays small. */
export function promtool(args: readonly string[], input = "") {
  const { exitCode, stdout, stderr } = runSync("promtool", args, {
    input,
    env: { ...plainEnvironment(), GOGC: "400" },
  });
  return { status: exitCode, said: stdout + stderr };
}
