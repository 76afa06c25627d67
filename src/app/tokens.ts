import type { Config } from "../config/config.ts";
import { within } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import type { Report } from "../model/events.ts";
import { type Candidate, CredentialFailover } from "../oauth/credential-failover.ts";
import type { TokenSource } from "../oauth/token.ts";
import type { PostForm } from "../oauth/token-endpoint.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Reloadable } from "./reloadable.ts";
import { SetSources } from "./set-sources.ts";
import { ownerKey, ownersOf, type TokenOwner } from "./token-owners.ts";

/** The token wing, furnished. */
export interface Tokens extends Reloadable {
  /** The tokens of the sets configured at a site. */
  readonly tokensOf: (environment: string, owner: string) => TokenSource;
  /** Fetches tokens in the background where there are none. */
  warm(): void;
  close(): Promise<void>;
}

/** The longest that a changed configuration waits for its tokens before it comes into force. */
const longestPrefetchMs = 5_000;

export function openTokens(
  postFormOf: (environment: Environment) => PostForm,
  report: Report,
  surroundings: Dependencies,
): Tokens {
  const { clock } = surroundings;
  const setSources = new SetSources({ postFormOf, report, surroundings });
  const sources = new Map<string, CredentialFailover>();
  let owners: readonly TokenOwner[] = [];
  /** A request has the deadline of the configuration that accepted it. */
  let longestRequestMs = 0;

  const furnish = (owner: TokenOwner, config: Config) => {
    const { key, environment, site } = owner;
    const members = setSources.of(owner, config);
    const { tokenMs: tokenTimeoutMs } = config.timeouts;
    const source = sources.get(key);
    if (source !== undefined) return source.use(members, tokenTimeoutMs);
    const parts = { environment, owner: site, candidates: members, tokenTimeoutMs, clock, report };
    sources.set(key, new CredentialFailover(parts));
  };

  /** Requests that were accepted before may still want it. */
  const dismiss = ({ key }: TokenOwner) => {
    clock.after(longestRequestMs, () => {
      if (!owners.some((owner) => owner.key === key)) sources.delete(key);
    });
  };

  return {
    /** A changed secret has its token before its site depends on it, unless the authorization server takes too long. */
    async prepare(config) {
      await setSources.prepareCache(config);
      const opened = ownersOf(config).map((owner) => ({ owner, members: setSources.of(owner, config) }));
      const awaited = opened.filter(({ owner }) => sources.has(owner.key)).map(({ members }) => fetchFirst(members));
      await within(clock, Promise.all(awaited), longestPrefetchMs);
    },

    commit(config) {
      const before = owners;
      owners = ownersOf(config);
      longestRequestMs = Math.max(longestRequestMs, config.timeouts.requestMs);
      for (const owner of owners) furnish(owner, config);
      const kept = new Set(owners.map(({ key }) => key));
      for (const owner of before) if (!kept.has(owner.key)) dismiss(owner);
      setSources.keepOnly(owners, config);
      for (const removed of labelsMissingIn(owners, before)) report({ kind: "credential_removed", ...removed });
    },

    tokensOf(environment, owner) {
      const source = sources.get(ownerKey(environment, owner));
      if (source === undefined) throw new Error("every site with credentials has a source");
      return source;
    },
    warm() {
      for (const { key } of owners) sources.get(key)?.warm();
    },
    close: () => setSources.close(),
  };
}

/** The first set's token, or the second's where the first is refused. */
async function fetchFirst(members: readonly Candidate[]): Promise<void> {
  if (members.some(({ source }) => source.hasToken)) return;
  for (const { source } of members) {
    await source.warm("start");
    if (!source.isRefused) return;
  }
}

/** Credentials, as events name them, that an earlier configuration had. */
function labelsMissingIn(now: readonly TokenOwner[], before: readonly TokenOwner[]) {
  const list = (owners: readonly TokenOwner[]) =>
    owners.flatMap(({ environment, sets }) => sets.map(({ set }) => ({ environment, credential: set.label })));
  const isThere = new Set(list(now).map(({ environment, credential }) => `${environment} ${credential}`));
  return list(before).filter(({ environment, credential }) => !isThere.has(`${environment} ${credential}`));
}
