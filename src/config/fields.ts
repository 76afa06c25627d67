import { z } from "zod";
import { type Read, readDurationMs } from "./values.ts";

/** Not empty; a string and nothing that YAML took for something else. */
export const text = z.string().min(1);

/** A string that is read into something more precise. */
export function parsed<Value>(read: (text: string) => Read<Value>) {
  return z.string().transform((given, context): Value => {
    const result = read(given);
    if ("value" in result) return result.value;
    context.addIssue({ code: "custom", message: "this cannot be read", params: { mend: result.mend } });
    return z.NEVER;
  });
}

/** A duration with unit; in milliseconds once read. */
export function duration(fallback: string, leastMs: number, mostMs: number) {
  const read = (given: string): Read<number> => {
    const result = readDurationMs(given);
    const isOutside = "value" in result && (result.value < leastMs || result.value > mostMs);
    return isOutside ? { mend: `write a duration from ${leastMs}ms to ${mostMs / 1_000}s` } : result;
  };
  return parsed(read).prefault(fallback);
}

export function count(fallback: number, least: number, most: number) {
  return z.int().min(least).max(most).default(fallback);
}

export function listOf<Item extends z.ZodType>(item: Item, least = 0) {
  return z.array(item).min(least);
}

/** Where a secret is: never the secret itself. */
export const secretSource = z
  .union([
    z.strictObject({ file: text.describe("Path of a file; one newline at its end is dropped.") }),
    z.strictObject({ env: text.describe("Name of an environment variable; second best.") }),
  ])
  .describe("Where a secret is: `{ file: … }`, or second best `{ env: … }`.");

export type SecretSource = z.output<typeof secretSource>;
