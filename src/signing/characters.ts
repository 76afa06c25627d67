/** Where a value breaks rule 3. */
export interface ForbiddenCharacter {
  readonly name: string;
  /** Counted in characters from 1. */
  readonly position: number;
}

const forbidden = /[^A-Za-z0-9._-]/;

/**
 * Finds the first signed value with a character other than letters, digits, hyphen, underscore and period (spec 5.2 rule
 * 3; ASCII, an empty value is fine). Apart from the signer on purpose: clients of this service that are in use sign
 * spaces and e-mail addresses, so whether this matters is for the caller to decide.
 * @param exempt names that are not signed
 */
export function findForbiddenCharacter(
  parameters: Iterable<readonly [name: string, value: string]>,
  exempt: ReadonlySet<string>,
): ForbiddenCharacter | undefined {
  for (const [name, value] of parameters) {
    const index = exempt.has(name) ? -1 : value.search(forbidden);
    if (index >= 0) return { name, position: index + 1 };
  }
  return undefined;
}
