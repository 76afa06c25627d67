import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import type { CredentialSet, Environment } from "../model/environment.ts";
import { cacheKey } from "../oauth/token.ts";
import { authUrlOf, loginKey } from "./upstreams.ts";

/** A credential set as one configuration has it. */
export interface PlacedSet {
  readonly environment: Environment;
  readonly set: CredentialSet;
  /** The environment, the site and the set's own name: they stay when its secret changes, unlike a label that it shares. */
  readonly placeKey: string;
  /** One for each client id, secret and audience: sites that share them share its token, its pauses and its limits. */
  readonly tokenKey: string;
  /** The way to its authorization server: another pool of connections is another way. */
  readonly way: string;
  /** All that its source is made from. */
  readonly sourceKey: string;
}

/** A site with sets of its own. */
export interface TokenOwner {
  readonly key: string;
  readonly environment: string;
  /** S… */
  readonly site: string;
  /** First choice first. */
  readonly sets: readonly [PlacedSet, ...PlacedSet[]];
}

export function ownersOf(config: Config): TokenOwner[] {
  return [...config.environments.values()].flatMap((environment) =>
    [...environment.sites.values()].flatMap(({ identifier: site, credentials }) => {
      if (credentials?.owner !== site) return [];
      const [first, ...rest] = credentials.sets.map((set) => placeSet(environment, site, set, config));
      if (first === undefined) return [];
      return [{ key: ownerKey(environment.name, site), environment: environment.name, site, sets: [first, ...rest] }];
    }),
  );
}

export function ownerKey(environment: string, site: string): string {
  return `${environment} ${site}`;
}

function placeSet(environment: Environment, site: string, set: CredentialSet, config: Config): PlacedSet {
  const { origin, path } = authUrlOf(environment);
  const tokenKey = cacheKey(`${origin}${path}`, set);
  // A source keeps to the pool that it began with, so it must not outlive it.
  const way = loginKey(environment, config);
  // Nor may the token of a former secret come to another host.
  const sourceKey = fingerprint([tokenKey, set.label, way, environment.baseUrl, fingerprintOf(config.tokens)]);
  const placeKey = `${ownerKey(environment.name, site)} ${set.name}`;
  return { environment, set, placeKey, tokenKey, way, sourceKey };
}
