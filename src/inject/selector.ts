/** Whether an object with these labels is selected. */
export type Selector = (labels: Readonly<Record<string, unknown>>) => boolean;

const requirement =
  /^\s*(?:(?<not>!?)\s*(?<alone>[\w./-]+)|(?<key>[\w./-]+)\s*(?:(?<sign>==?|!=)\s*(?<value>[\w.-]*)|\s(?<word>in|notin)\s*\((?<values>[^()]+)\)))\s*$/;

/**
 * A label selector in the syntax of `kubectl --selector`: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`, joined by commas.
 * As there, `!=` and `notin` select what lacks the label too.
 * @returns undefined where the text is no such selector
 */
export function readSelector(text: string): Selector | undefined {
  const selectors = text.split(/,(?![^(]*\))/).map(readRequirement);
  if (selectors.includes(undefined)) return undefined;
  return (labels) => selectors.every((selects) => selects?.(labels));
}

function readRequirement(text: string): Selector | undefined {
  const { not, alone, key, sign, value, word, values } = requirement.exec(text)?.groups ?? {};
  if (alone !== undefined) return (labels) => Object.hasOwn(labels, alone) === (not === "");
  if (key === undefined) return undefined;
  const wanted = values?.split(",").map((each) => each.trim()) ?? [value];
  const isWanted = word === undefined ? sign !== "!=" : word === "in";
  return (labels) => wanted.includes(labels[key] as string | undefined) === isWanted;
}
