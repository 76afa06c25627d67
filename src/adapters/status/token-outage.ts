import type { CredentialStatus, SiteStatus, TokenOutage } from "./snapshot.ts";

/**
 * Sites of an environment that have no token in any of their sets, though one was asked for: their orders fail. Sets that
 * nobody has asked for yet say nothing.
 * @param credentials those of the environment
 */
export function findTokenOutage(
  sites: readonly SiteStatus[],
  credentials: readonly CredentialStatus[],
): TokenOutage | undefined {
  const byLabel = new Map(credentials.map((credential) => [credential.credential, credential]));
  const failing = sites.flatMap(({ identifier, credentials: labels }) => {
    const sets = labels.flatMap((label) => byLabel.get(label) ?? []);
    const tried = sets.filter(({ failingSince }) => failingSince !== undefined);
    const hasToken = sets.some(({ token }) => token !== "none" && token.remainingMs > 0);
    return tried.length === 0 || hasToken ? [] : [{ identifier, tried }];
  });
  const tried = failing.flatMap((site) => site.tried);
  const [first] = tried;
  if (first === undefined) return undefined;
  const earliest = (times: readonly (string | undefined)[]) => times.filter((time) => time !== undefined).sort()[0];
  const latest = tried.toSorted((a, b) => (a.lastRequest?.at ?? "").localeCompare(b.lastRequest?.at ?? "")).at(-1);
  return {
    sites: failing.map(({ identifier }) => identifier),
    since: earliest(tried.map(({ failingSince }) => failingSince)),
    lastRequest: latest?.lastRequest,
    nextTryAt: earliest(tried.map(({ nextTryAt }) => nextTryAt)),
  };
}
