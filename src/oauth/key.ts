import { createHash, createHmac } from "node:crypto";
import type { CredentialSet } from "../model/environment.ts";

/** Changes whenever the meaning of a stored value changes, so that old and new versions never read each other's. */
const formatVersion = "1";

/**
 * The name under which replicas share a set's token: a hash over everything that makes a token a different token. Each
 * part is preceded by its length, so two inputs that concatenate alike differ. The secret enters as a fingerprint, so
 * that a changed secret never reuses the old secret's token.
 */
export function cacheKey(authUrl: string, set: CredentialSet): string {
  const fingerprint = createHmac("sha256", set.clientSecret.key).update("countersign cache key").digest("hex");
  const hash = createHash("sha256");
  for (const part of [formatVersion, authUrl, set.clientId, set.audience, fingerprint]) {
    const bytes = Buffer.from(part, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}
