import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const files = "helm/countersign/files";

/** A vector selector of an expression: the name of the series, and its matchers, if any; without a name, it selects by `__name__`. */
export const vectorSelector = /(?<!")(\b(?:countersign|process|nodejs)[a-z0-9_:]+|\bup\b|(?=\{__name__))(\{[^}]*\})?/g;

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly { readonly expr: string }[] }[];
}

/** Makes the monitoring mixin of the chart's alerts and dashboards. */
export function makeMixin(folder: string): void {
  cpSync("deploy/mixin", folder, { recursive: true });
  cpSync(join(files, "dashboards"), join(folder, "dashboards"), { recursive: true });
  writeFileSync(join(folder, "rules.json"), mixinRulesOf(readFileSync(join(files, "rules.yaml"), "utf8")));
}

/**
 * The rules as JSON for Jsonnet, with a placeholder for further matchers in each expression: `%(matchers)s` before existing
 * matchers, `%(braces)s` if there are none.
 */
function mixinRulesOf(yaml: string): string {
  const { groups } = parse(yaml) as RuleFile;
  const made = groups.map((group) => ({
    ...group,
    rules: group.rules.map((rule) => ({ ...rule, expr: rule.expr.split("\n").map(leavePlaces).join("\n") })),
  }));
  return JSON.stringify({ groups: made });
}

/** Recorded series get no placeholder: they were selected when they were recorded, and keep few labels. */
function leavePlaces(line: string): string {
  const escaped = line.replaceAll("%", "%%");
  if (/^\s*#/.test(line)) return escaped;
  return escaped.replace(vectorSelector, (whole: string, name: string, matchers?: string) => {
    if (name.includes(":")) return whole;
    return matchers === undefined ? `${name}%(braces)s` : `${name}{%(matchers)s${matchers.slice(1)}`;
  });
}
