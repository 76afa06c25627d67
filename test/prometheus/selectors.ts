/** The vector selectors of an expression, without their ranges. */
export function selectorsOf(expr: string): string[] {
  const found = expr.matchAll(/\b((?:countersign|process|nodejs)[a-z0-9_:]+|up\b)(\{[^}]*\})?/g);
  return [...new Set([...found].map(([, name = "", matchers = ""]) => name + matchers))];
}
