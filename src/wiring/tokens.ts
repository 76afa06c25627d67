import type { Config } from "../config/config.ts";
import type { CredentialSet, Environment } from "../environment.ts";
import type { Report } from "../events.ts";
import { CachedSource } from "../tokens/cached-source.ts";
import { Conduct } from "../tokens/conduct.ts";
import { CredentialsSource, type Member } from "../tokens/credentials.ts";
import type { PostForm } from "../tokens/endpoint.ts";
import { cacheKey } from "../tokens/key.ts";
import type { TokenSource } from "../tokens/source.ts";
import { drawThresholds } from "../tokens/token.ts";
import { Unauthorized } from "../tokens/unauthorized.ts";
import { openCache } from "./cache.ts";
import type { Surroundings } from "./surroundings.ts";

/** The token wing, furnished. */
export interface Tokens {
  /** The tokens of the sets configured at a site. */
  readonly tokensOf: (environment: string, owner: string) => TokenSource;
  /** Fetches tokens in the background where there are none. */
  warm(): void;
  close(): Promise<void>;
}

export function openTokens(
  config: Config,
  postFormOf: (environment: Environment) => PostForm,
  report: Report,
  surroundings: Surroundings,
): Tokens {
  const { clock, random } = surroundings;
  const cache = openCache(config, report, surroundings);
  const { store, lock } = cache;
  const thresholds = drawThresholds(random);
  const sources = new Map<string, CredentialsSource>();

  /** One for each client id, secret and audience: sites that share them share its token, its pauses and its limits. */
  const members = new Map<string, Member>();
  const openMember = (environment: Environment, post: PostForm, set: CredentialSet): Member => {
    const key = cacheKey(`${environment.authUrl.origin}${environment.authUrl.path}`, set);
    const known = members.get(key);
    if (known !== undefined) return known;
    const towards = { conduct: new Conduct(clock, random), unauthorized: new Unauthorized(clock) };
    const parts = { environment: environment.name, set, key, store, lock, post, ...towards, clock, random, report };
    const member = { set, source: new CachedSource(parts, thresholds) };
    members.set(key, member);
    return member;
  };

  for (const environment of config.environments.values()) {
    const post = postFormOf(environment);
    for (const { identifier, credentials } of environment.sites.values()) {
      if (credentials?.owner !== identifier) continue;
      const [first, ...rest] = credentials.sets;
      const own: [Member, ...Member[]] = [
        openMember(environment, post, first),
        ...rest.map((set) => openMember(environment, post, set)),
      ];
      const { tokenMs: tokenTimeoutMs } = config.timeouts;
      const parts = { environment: environment.name, owner: identifier, members: own, tokenTimeoutMs, clock, report };
      sources.set(keyOf(environment.name, identifier), new CredentialsSource(parts));
    }
  }

  cache.onReturn(() => {
    for (const { source } of members.values()) source.rejoin();
  });
  return {
    tokensOf(environment, owner) {
      const source = sources.get(keyOf(environment, owner));
      if (source === undefined) throw new Error("every site with credentials has a source");
      return source;
    },
    warm() {
      for (const source of sources.values()) source.warm();
    },
    async close() {
      for (const source of sources.values()) source.close();
      await cache.close();
    },
  };
}

function keyOf(environment: string, owner: string): string {
  return `${environment} ${owner}`;
}
