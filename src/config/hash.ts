import { createHmac, hash } from "node:crypto";
import { Secret } from "../model/secret.ts";
import type { Config } from "./config.ts";

const shownDigits = 12;

/**
 * The hash that identifies a configuration in logs, metrics and `/status`: it changes with every setting and with every
 * secret's content. A secret counts by its keyed fingerprint, and only the first digits of the hash are returned.
 */
export function hashConfig(config: Omit<Config, "hash" | "secrets" | "written">): string {
  const environments = [...config.environments.values()].map(({ siteOfKey, sites, ...environment }) => {
    // An unchanged site stays the same object, so its fingerprint is made once: there may be thousands of sites.
    return { ...environment, sites: [...sites.values()].map(fingerprintOf).join() };
  });
  return fingerprint({ ...config, environments }).slice(0, shownDigits);
}

const partsKnown = new WeakMap<object, string>();

/**
 * The fingerprint of an object that never changes, made once: a thousand sites share one environment's certificates, which
 * take a millisecond each time, and several objects may hold one secret.
 */
export function fingerprintOf(part: object): string {
  const known = partsKnown.get(part) ?? (part instanceof Secret ? fingerprintSecret(part) : fingerprint(part));
  partsKnown.set(part, known);
  return known;
}

/** A hash over a whole value, secrets included: parts of configurations with equal hashes are equal. */
export function fingerprint(value: unknown): string {
  // A function, because only `this` still holds a secret: `plain` is the result of the secret's toJSON.
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
