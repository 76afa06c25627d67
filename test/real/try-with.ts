import { describe } from "vitest";

/**
 * Tests with a program of another project: a row of README.md, in which the tests' names are the results. The tests are
 * left out if the program has no version, because this machine does not have it.
 */
export function tryWith(program: string, version: string | undefined, tests: () => void): void {
  describe.skipIf(version === undefined)(`${program} ${version ?? notTried}`, tests);
}

/** The text in place of a missing version. */
export const notTried = "NOT TRIED";

/** The folder into which `npm run test:real` fetches programs. */
export const tools = ".tools/real";
