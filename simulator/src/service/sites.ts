/** One key pair of a site (spec 5.3). */
export interface SimulatedKey {
  /** K…; accepted wherever a Site Identifier is. */
  readonly identifier: string;
  readonly secret: string;
  /** Must equal the version of the calls it signs (spec 5.2 rule 6); the site's version when absent. */
  readonly version?: string;
  /** Required on exactly one key if a site has several. */
  readonly isDefault?: boolean;
}

/** One OAuth credential set (spec 2.3). */
export interface SimulatedCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly audience: string;
}

/** One site as the business portal holds it. */
export interface SimulatedSite {
  /** S… */
  readonly identifier: string;
  /** The version of its keys that name none; default "3.0". */
  readonly version?: string;
  /** The S… of its parent, for a child site. */
  readonly parent?: string;
  readonly keys?: readonly SimulatedKey[];
  /** At most two (spec 8). */
  readonly credentials?: readonly SimulatedCredentials[];
}

/** A key pair together with the site that it belongs to. */
export interface KeyOfSite {
  readonly key: SimulatedKey;
  readonly version: string;
  readonly site: SimulatedSite;
}

/** The site and the key that a `site_identifier` names. */
export interface Identified {
  readonly site: SimulatedSite;
  /** The key that signs: the named one, or the default one of a site; undefined for a site without keys. */
  readonly key: KeyOfSite | undefined;
}

/** Looks up sites and keys by identifier. */
export interface SiteDirectory {
  readonly keys: readonly KeyOfSite[];
  /** Resolves a Site Identifier to the site's default key, a Key Identifier to that key (spec 5.3). */
  identify(siteIdentifier: string): Identified | undefined;
}

export function createSiteDirectory(sites: readonly SimulatedSite[]): SiteDirectory {
  const byIdentifier = new Map<string, Identified>();
  const allKeys: KeyOfSite[] = [];
  const add = (identifier: string, identified: Identified) => {
    if (byIdentifier.has(identifier)) throw new Error(`two sites or keys are called ${identifier}`);
    byIdentifier.set(identifier, identified);
  };
  for (const site of sites) {
    const keys = (site.keys ?? []).map((key) => ({ key, version: key.version ?? site.version ?? "3.0", site }));
    add(site.identifier, { site, key: defaultKeyOf(site, keys) });
    for (const key of keys) add(key.key.identifier, { site, key });
    allKeys.push(...keys);
  }
  refuseImpossibleFamilies(sites);
  return { keys: allKeys, identify: (identifier) => byIdentifier.get(identifier) };
}

function defaultKeyOf(site: SimulatedSite, keys: readonly KeyOfSite[]): KeyOfSite | undefined {
  if (keys.length < 2) return keys[0];
  const defaults = keys.filter((key) => key.key.isDefault === true);
  if (defaults.length !== 1) throw new Error(`site ${site.identifier} has several keys: mark exactly one isDefault`);
  return defaults[0];
}

function refuseImpossibleFamilies(sites: readonly SimulatedSite[]): void {
  const byIdentifier = new Map(sites.map((site) => [site.identifier, site]));
  for (const { identifier, parent } of sites) {
    if (parent === undefined) continue;
    const found = byIdentifier.get(parent);
    if (found === undefined) throw new Error(`site ${identifier} has the unknown parent ${parent}`);
    if (found.parent !== undefined || parent === identifier) {
      throw new Error(`site ${identifier} has the parent ${parent}, which is itself a child`);
    }
  }
}
