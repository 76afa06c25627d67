import { createHmac, hash } from "node:crypto";
import { Secret } from "../model/secret.ts";
import type { Config } from "./config.ts";

const shownDigits = 12;

/**
 * Identifies a configuration in logs, metrics and `/status`: it changes with every setting and with every secret's
 * content. Secrets enter as a keyed fingerprint, and only a part of the hash is shown.
 */
export function hashConfig(config: Omit<Config, "hash" | "secretOrigins" | "written">): string {
  const environments = [...config.environments.values()].map(({ siteOfKey, sites, ...environment }) => {
    // A site is the same object as long as nothing of it changes: of thousands each has its fingerprint made once.
    return { ...environment, sites: [...sites.values()].map(fingerprintOf).join() };
  });
  return fingerprint({ ...config, environments }).slice(0, shownDigits);
}

const partsKnown = new WeakMap<object, string>();

/**
 * The fingerprint of a part that never changes, made once: a thousand sites share one environment's certificates, which
 * take a millisecond each time, and a secret is asked for by several.
 */
export function fingerprintOf(part: object): string {
  const known = partsKnown.get(part) ?? (part instanceof Secret ? fingerprintSecret(part) : fingerprint(part));
  partsKnown.set(part, known);
  return known;
}

/** A hash over all of a value, secrets included: two parts of configurations with the same one are the same. */
export function fingerprint(value: unknown): string {
  // A function, because only `this` holds a secret as it is: `plain` has been through its toJSON.
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name: string, plain: unknown) {
    const given = this[name];
    if (given instanceof Secret) return fingerprintOf(given);
    if (given instanceof Map || given instanceof Set) return [...given];
    return plain;
  });
  return hash("sha256", text);
}

function fingerprintSecret({ key }: Secret): string {
  return createHmac("sha256", key).update("countersign configuration").digest("hex");
}
