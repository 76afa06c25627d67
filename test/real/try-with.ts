import { describe } from "vitest";

/**
 * Tests with a program that others wrote: a row of docs/compatibility.md, where their names tell what held. They are left
 * out where it has no version, because it cannot be had on this machine.
 */
export function tryWith(program: string, version: string | undefined, tests: () => void): void {
  describe.skipIf(version === undefined)(`${program} ${version ?? notTried}`, tests);
}

/** What stands in place of a version. */
export const notTried = "NOT TRIED";

/** What `npm run test:real` has fetched. */
export const tools = ".tools/real";
