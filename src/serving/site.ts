import type { AuthMethod, Environment, Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { listNames } from "../model/names.ts";
import { type AuthScheme, schemes } from "./authentication.ts";
import { bridge } from "./bridge.ts";
import type { KnownCaller } from "./caller-registry.ts";
import type { Route } from "./messages.ts";
import type { RequestOptions } from "./request-options.ts";

/** A site, and its key if the caller named the key. */
interface Named {
  readonly site: Site;
  readonly key: string | undefined;
}

/** As in spec 5.3, and shorter than any sound secret. */
export const shortIdentifier = /^[SK][A-Za-z0-9_-]{1,14}$/;

/**
 * Chooses a request's site and how it is authenticated. The header names the site, else the body, else
 * it is the environment's default site (spec 5.1, 5.3).
 * @param caller if callers have names: errors list only sites that this caller may use
 * @param environments all that are configured: an error names the one that has the site
 * @throws ProxyError site_not_configured, auth_not_configured, site_conflict, site_required
 */
export function chooseSite(
  environment: Environment,
  options: Pick<RequestOptions, "site" | "auth">,
  inBody: string | undefined,
  caller?: Pick<KnownCaller, "sites">,
  environments?: ReadonlyMap<string, Environment>,
): Pick<Route, "site" | "key"> & { readonly scheme: AuthScheme } {
  const { site, key } =
    reconcile(
      lookUp(environment, options.site, "Countersign-Site", caller, environments),
      lookUp(environment, inBody, "site_identifier", caller, environments),
    ) ?? defaultSiteOf(environment, caller);
  const auth = options.auth ?? site.auth[0];
  if (!site.auth.includes(auth)) throw notConfigured(site, auth);
  // A site with `bridge` uses OAuth first, and a caller that names OAuth insists on it.
  const isBridged = site.bridge !== undefined && options.auth === undefined;
  return { site, key, scheme: isBridged ? bridge : schemes[auth] };
}

/** @param givenIn the header or the parameter that has the identifier */
function lookUp(
  environment: Environment,
  identifier: string | undefined,
  givenIn: "Countersign-Site" | "site_identifier",
  caller: Pick<KnownCaller, "sites"> | undefined,
  environments: ReadonlyMap<string, Environment> = new Map(),
): Named | undefined {
  if (identifier === undefined) return undefined;
  const site = environment.sites.get(identifier);
  if (site !== undefined) return { site, key: undefined };
  const ofKey = environment.siteOfKey.get(identifier);
  if (ofKey !== undefined) return { site: ofKey, key: identifier };
  // Never repeat a parameter's value, nor a header's value that may be a secret.
  const asked = givenIn === "Countersign-Site" && shortIdentifier.test(identifier) ? `, ${identifier},` : "";
  const isKnownIn = ({ sites, siteOfKey }: Environment) => sites.has(identifier) || siteOfKey.has(identifier);
  const other = (caller?.sites ?? "any") === "any" ? [...environments.values()].find(isKnownIn) : undefined;
  const where = other === undefined ? "is not configured" : `is configured in environment ${other.name}, not`;
  throw new ProxyError(
    "site_not_configured",
    `The site or key in ${givenIn}${asked} ${where} in environment ${environment.name}, ` +
      `which this listener serves. ${listUsable(environment, caller)}`,
    { causedBy: asked === "" ? givenIn : `${givenIn} ${identifier}` },
  );
}

function listUsable(environment: Environment, { sites = "any" }: Partial<Pick<KnownCaller, "sites">> = {}): string {
  const usable = [...environment.sites.keys()].filter((each) => sites === "any" || sites.has(each));
  return usable.length === 0 ? "No site can be used here." : `Sites that can be used here: ${listNames(usable)}.`;
}

/** Header and body may name the same site twice, and at most one key. */
function reconcile(a: Named | undefined, b: Named | undefined): Named | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.site !== b.site || (a.key !== undefined && b.key !== undefined && a.key !== b.key)) {
    throw new ProxyError(
      "site_conflict",
      "Countersign-Site and the body's site_identifier mean different sites or keys; name one.",
      { causedBy: "site_identifier" },
    );
  }
  return { site: a.site, key: a.key ?? b.key };
}

function defaultSiteOf(environment: Environment, caller: Pick<KnownCaller, "sites"> | undefined): Named {
  const site = environment.sites.get(environment.defaultSite ?? "");
  if (site !== undefined) return { site, key: undefined };
  throw new ProxyError(
    "site_required",
    `Environment ${environment.name} has several sites and no defaultSite: name one in the header Countersign-Site. ` +
      listUsable(environment, caller),
  );
}

function notConfigured(site: Site, auth: AuthMethod): ProxyError {
  const what = `Site ${site.identifier} is not set up for ${auth}, only for ${site.auth.join(" and ")}.`;
  const fix =
    auth === "hmac"
      ? "Leave Countersign-Auth out, or name a site with hmac."
      : "Name a site with oauth, or call an operation without Countersign-Auth.";
  return new ProxyError("auth_not_configured", `${what} ${fix}`, { causedBy: auth });
}
