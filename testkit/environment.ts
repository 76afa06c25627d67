import type { Config } from "../src/config/config.ts";
import type { Environment, Site } from "../src/model/environment.ts";
import { addressOf } from "./address.ts";
import { noTls } from "./certificates.ts";

/** A site with the defaults of the configuration. */
export function siteOf(identifier: string, more: Partial<Site> = {}): Site {
  return {
    identifier,
    parent: undefined,
    version: "3.0",
    auth: ["oauth"],
    identifyBy: "site",
    characters: "reject",
    exempt: new Set(["format", "signature", "call"]),
    decimals: new Set(),
    keys: [],
    defaultKey: more.keys?.[0],
    credentials: undefined,
    ...more,
  };
}

/** An environment of these sites, with the defaults of the configuration. A single site is the default one. */
export function environmentOf(sites: readonly Site[] = [], more: Partial<Environment> = {}): Environment {
  const keyed = sites.flatMap((site) => site.keys.map(({ identifier }) => [identifier, site] as const));
  return {
    name: "sandbox",
    baseUrl: addressOf("https://api.example"),
    authUrl: addressOf("https://login.example"),
    operations: "any",
    defaultSite: sites.length === 1 ? sites[0]?.identifier : undefined,
    sites: new Map(sites.map((site) => [site.identifier, site])),
    siteOfKey: new Map(keyed),
    undecided: "5xx",
    forwardHeaders: [],
    via: true,
    tls: noTls,
    ...more,
  };
}

/** A configuration's environments, each with something changed. */
export function changed(
  { environments }: Config,
  change: (before: Environment) => Partial<Environment>,
): Pick<Config, "environments"> {
  const after = Array.from(environments, ([name, before]) => [name, { ...before, ...change(before) }] as const);
  return { environments: new Map(after) };
}

/** A configuration's environments with each site changed; without the sites for which `change` returns undefined. */
export function sitesChanged(config: Config, change: (before: Site) => Site | undefined): Pick<Config, "environments"> {
  return changed(config, ({ sites }) => {
    const after = Array.from(sites.values(), change).filter((site) => site !== undefined);
    return { sites: new Map(after.map((site) => [site.identifier, site])) };
  });
}
