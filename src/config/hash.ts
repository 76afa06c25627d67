import { createHash, createHmac } from "node:crypto";
import { Secret } from "../secret.ts";
import type { Config } from "./config.ts";

const shownDigits = 12;

/**
 * Identifies a configuration in logs, metrics and `/status`: it changes with every setting and with every secret's
 * content. Secrets enter as a keyed fingerprint, and only a part of the hash is shown.
 */
export function hashConfig(config: Omit<Config, "hash" | "secretOrigins">): string {
  // A function, because only `this` holds a secret as it is: `value` has been through its toJSON.
  const text = JSON.stringify(config, function (this: Record<string, unknown>, name: string, value: unknown) {
    const given = this[name];
    if (given instanceof Secret)
      return createHmac("sha256", given.key).update("countersign configuration").digest("hex");
    if (given instanceof Map || given instanceof Set) return [...given];
    return value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, shownDigits);
}
