import * as z from "zod";
import { type Egress, placeOf } from "../model/environment.ts";
import { type Bind, type Callers, describeBind } from "../model/listener.ts";
import { listNames } from "../model/names.ts";
import type { Config } from "./config.ts";
import { folderOf, namedSites, type RawEnvironment } from "./form/environment.ts";
import { configSchema, type RawConfig } from "./form/schema.ts";
import type { RawParent, RawSite } from "./form/site.ts";
import { describeAddress } from "./form/values.ts";
import { spellOut } from "./rules/credentials.ts";

const mostNamed = 5;

/**
 * Where each listener leads and who may call it, one line each.
 * @param bound the addresses in use, in the configuration's order, with the port that the system chose for port 0
 */
export function routes(
  { listeners, callbacks, environments }: Config,
  bound?: { readonly listeners: readonly Bind[]; readonly callbacks: readonly Bind[] },
): string[] {
  const inbound = callbacks.map(({ bind, environment, application }, index) => {
    const at = describeBind(bound?.callbacks[index] ?? bind);
    return `${at} hands callbacks of ${environment} to ${describeAddress(application.url)}`;
  });
  const outbound = listeners.map(({ bind, environment: name, callers }, index) => {
    const at = describeBind(bound?.listeners[index] ?? bind);
    const environment = environments.get(name);
    if (environment === undefined) return `${at} leads nowhere`;
    const operations = environment.operations === "any" ? "*" : [...environment.operations].join(", ");
    const passed = (environment.passThrough ?? []).map(({ prefix }) => `; ${prefix} passes through`).join("");
    const who = describeCallers(callers);
    const proxy = environment.egress === undefined ? "" : describeProxy(environment.egress);
    return `${at} leads to ${name}: ${describeAddress(environment.baseUrl)} (${operations})${passed}${who}${proxy}`;
  });
  return [...outbound, ...inbound];
}

function describeProxy({ proxy, direct }: Egress): string {
  const except = direct.size === 0 ? "" : `, except for ${[...direct].join(" and ")}`;
  return `; through the proxy ${placeOf(proxy)}${except}`;
}

function describeCallers(callers: Callers | undefined): string {
  switch (callers?.kind) {
    case undefined:
      return "";
    case "anyone":
      return "; anyone may call";
    case "named": {
      const by = callers.tls === undefined ? "token" : "certificate";
      const names = callers.callers.map(({ name }) => name);
      return `; callers by ${by}: ${listNames(names, mostNamed)}`;
    }
  }
}

const explained = new WeakMap<RawConfig, object>();

/** The configuration in effect, with every default and no secret. As a file it would have the same meaning. */
export function explain({ written, environments }: Config): object {
  if (written === undefined) return {};
  const shown = explained.get(written) ?? z.encode(configSchema, spellOutSets(written, environments));
  explained.set(written, shown);
  return shown;
}

/** The same, with the values of their folders in credential sets that have `dir`. */
function spellOutSets(written: RawConfig, environments: Config["environments"]): RawConfig {
  const ofEnvironment = (raw: RawEnvironment, name: string): RawEnvironment => {
    const ofSite = <Site extends RawSite>(site: Site, identifier: string): Site => {
      if (site.credentials === undefined) return site;
      const loaded = environments.get(name)?.sites.get(identifier)?.credentials?.sets ?? [];
      const credentials = site.credentials.map((set) => {
        const own = loaded.find((each) => each.name === set.name);
        return own === undefined ? set : spellOut(set, own);
      });
      return { ...site, credentials };
    };
    const withChildren = (site: RawParent, identifier: string): RawParent => {
      return { ...ofSite(site, identifier), children: mapValues(site.children, ofSite) };
    };
    const isFolder = folderOf(raw.sites) !== undefined;
    return isFolder ? raw : { ...raw, sites: mapValues(namedSites(raw.sites), withChildren) };
  };
  return { ...written, environments: mapValues(written.environments, ofEnvironment) };
}

function mapValues<Value>(all: Readonly<Record<string, Value>>, change: (value: Value, key: string) => Value) {
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, change(value, key)]));
}
