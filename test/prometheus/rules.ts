import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { rulesFile } from "./tools.ts";

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Alert extends Rule {
  readonly alert: string;
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

export const rules: readonly Rule[] = (parse(readFileSync(rulesFile, "utf8")) as RuleFile).groups.flatMap(
  (group) => group.rules,
);

export const alerts: readonly Alert[] = rules.filter((rule): rule is Alert => rule.alert !== undefined);
