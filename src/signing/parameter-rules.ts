/** What the specification says of parameters by name. */

/** Must be there and signed (spec 5.2 step 2). */
export const requiredNames = ["version", "site_identifier", "timestamp"] as const;

/** Not signed unless a site says otherwise (spec 5.2 step 1). */
export const defaultExempt = ["format", "signature", "call"] as const;

/** The names that are not signed; `signature` is one whatever is said: it cannot sign itself. */
export function exemptNames(names: Iterable<string>): ReadonlySet<string> {
  return new Set([...names, "signature"]);
}

/**
 * Whether the value is an amount, with two digits after the point (spec 5.2 rule 2).
 * @param more names beside `*_amount`
 */
export function isDecimal(name: string, more: ReadonlySet<string>): boolean {
  return name.endsWith("_amount") || more.has(name);
}

/**
 * What a parameter may be called. The string to sign is not injective (`{foo:"bar1"}` and `{foobar:"1"}` sign alike,
 * spec 5.2 step 4), so odd names are not let near it. The specification limits no length (spec 8).
 */
export const allowedName = /^[A-Za-z0-9_.-]{1,256}$/;
