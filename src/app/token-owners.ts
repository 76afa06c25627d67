import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { type CredentialSet, type Environment, tokenUrlOf } from "../model/environment.ts";
import { cacheKey } from "../oauth/token.ts";
import { authPoolKey as keyOfAuthPool } from "./upstreams.ts";

/** A credential set as one configuration has it. */
export interface ConfiguredSet {
  readonly environment: Environment;
  readonly set: CredentialSet;
  /** The environment, the site and the set's own name. It stays when the secret changes, unlike a label that sites share. */
  readonly slot: string;
  /** One for each client and what it asks a token for: sites that share them share its token, its back-off and its limits. */
  readonly tokenKey: string;
  /** The pool of connections to its authorization server. */
  readonly authPoolKey: string;
  /** What its token is for: the hosts that it comes from and goes to, and what it is asked for. */
  readonly purpose: string;
  /** All that its token cache is made from. */
  readonly tokenCacheKey: string;
}

/** A site with credential sets of its own. */
export interface TokenOwner {
  readonly key: string;
  readonly environment: string;
  /** S… */
  readonly site: string;
  /** First choice first. */
  readonly sets: readonly [ConfiguredSet, ...ConfiguredSet[]];
}

export function ownersOf(config: Config): TokenOwner[] {
  return [...config.environments.values()].flatMap((environment) =>
    [...environment.sites.values()].flatMap(({ identifier: site, credentials }) => {
      if (credentials?.owner !== site) return [];
      const key = ownerKey(environment.name, site);
      const configure = (set: CredentialSet) => configureSet(environment, key, set, config);
      const [first, ...rest] = credentials.sets;
      return [{ key, environment: environment.name, site, sets: [configure(first), ...rest.map(configure)] as const }];
    }),
  );
}

export function ownerKey(environment: string, site: string): string {
  return `${environment} ${site}`;
}

function configureSet(environment: Environment, owner: string, set: CredentialSet, config: Config): ConfiguredSet {
  const { baseUrl } = environment;
  const { audience, token: { scope, resource, extra = {} } = {} } = set;
  const tokenUrl = tokenUrlOf(environment, set);
  const tokenKey = cacheKey(`${tokenUrl.origin}${tokenUrl.path}`, set);
  const authPoolKey = keyOfAuthPool(environment, tokenUrl, config);
  const purpose = fingerprint([tokenUrl, baseUrl, audience, scope, resource, extra]);
  // A cache uses one pool and one way of asking, so it must not outlive them. Also, the token of a former secret must not
  // go to another host.
  const parts = [tokenKey, set.label, set.token, authPoolKey, baseUrl, fingerprintOf(config.tokens)];
  const tokenCacheKey = fingerprint(parts);
  return { environment, set, slot: `${owner} ${set.name}`, tokenKey, authPoolKey, purpose, tokenCacheKey };
}
