import { vectorSelector } from "../../../scripts/mixin/mixin.ts";

/** The vector selectors of an expression, without their ranges. */
export function selectorsOf(expr: string): string[] {
  const found = expr.matchAll(vectorSelector);
  return [...new Set([...found].map(([, name = "", matchers = ""]) => name + matchers))];
}
