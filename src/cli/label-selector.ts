import type { Selector } from "../inject/sidecar.ts";

const requirement =
  /^\s*(?<not>!?)\s*(?<key>[\w./-]+)\s*(?:(?<sign>==?|!=)\s*(?<value>[\w.-]*)|\s(?<word>in|notin)\s*\((?<values>[^()]+)\))?\s*$/;

/**
 * A label selector in the syntax of `kubectl --selector`: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, joined by
 * commas. As there, `!=` and `notin` also select what lacks the label.
 * @returns undefined where the text is no such selector
 */
export function readSelector(text: string): Selector | undefined {
  const selectors = text.split(/,(?![^(]*\))/).map(readRequirement);
  if (selectors.includes(undefined)) return undefined;
  return (labels) => selectors.every((selects) => selects?.(labels));
}

function readRequirement(text: string): Selector | undefined {
  const { not, key, sign, value, word, values = value } = requirement.exec(text)?.groups ?? {};
  if (key === undefined || (not === "!" && values !== undefined)) return undefined;
  const isNegated = not === "!" || sign === "!=" || word === "notin";
  const wanted = values?.split(",").map((each) => each.trim());
  const matches: Selector = (labels) => Object.hasOwn(labels, key) && (wanted?.includes(String(labels[key])) ?? true);
  return (labels) => matches(labels) !== isNegated;
}
