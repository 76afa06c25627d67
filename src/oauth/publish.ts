import { type RefreshParts, toToken } from "./refresh.ts";
import { freshness, isNewer, type Token } from "./token.ts";

/**
 * Shares a token that the store may have lost, unless the store has a newer one.
 * @returns the token in force, in both places; undefined when ours has no life left to share
 */
export async function publish(parts: RefreshParts, token: Token): Promise<Token | undefined> {
  const { clock, store, key, thresholds } = parts;
  const askedAtMs = clock.nowMs();
  const { token: known } = await store.read(key);
  const theirs = known && toToken(parts, known, askedAtMs);
  if (theirs !== undefined && (theirs.id === token.id || isNewer(theirs, token))) return theirs;
  const now = clock.nowMs();
  if (freshness(token, thresholds, now) === "expired") return undefined;
  return toToken(parts, await store.save(key, token, now - token.issuedAtMs), now);
}
