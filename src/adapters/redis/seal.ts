import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { Secret } from "../../model/secret.ts";
import type { IssuedToken } from "../../oauth/token-store.ts";

const keyIdBytes = 4;
const ivBytes = 12;
const tagBytes = 16;
/** The longest token answer holds 16,384 characters. */
const longestSealedChars = 24_000;
/** Lifetime in ms, then the token, of characters that a header line may have. */
const content = /^(\d{1,9})\n([\x21-\x7e]+)$/;

/** AES-256-GCM keys, in order: the first seals, all open. */
export type SealKeys = readonly [Secret, ...Secret[]];

/**
 * Seals a token so that only holders of a key can read it, and only under this name: base64url of key id, nonce,
 * ciphertext and tag. The name is authenticated with it, so a value moved to another set's name does not open.
 */
export function seal([key]: SealKeys, name: string, { secret, lifetimeMs }: IssuedToken): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", key.key, iv).setAAD(Buffer.from(name, "utf8"));
  const body = Buffer.concat([cipher.update(`${lifetimeMs}\n${secret.reveal()}`, "utf8"), cipher.final()]);
  return Buffer.concat([keyId(key), iv, body, cipher.getAuthTag()]).toString("base64url");
}

/** Opens what `seal` made; undefined for anything else. */
export function open(keys: SealKeys, name: string, sealed: string): IssuedToken | undefined {
  if (sealed.length > longestSealedChars) return undefined;
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= keyIdBytes + ivBytes + tagBytes) return undefined;
  const id = bytes.subarray(0, keyIdBytes);
  for (const key of keys) {
    const text = keyId(key).equals(id) ? decrypt(key, name, bytes.subarray(keyIdBytes)) : undefined;
    const [, lifetime, token] = content.exec(text ?? "") ?? [];
    if (lifetime !== undefined && token !== undefined) {
      return { secret: new Secret(token), lifetimeMs: Number(lifetime) };
    }
  }
  return undefined;
}

function decrypt(key: Secret, name: string, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key.key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(name, "utf8")).setAuthTag(bytes.subarray(-tagBytes));
  try {
    const body = bytes.subarray(ivBytes, -tagBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}

/** Tells keys apart while they are rolled, and says nothing about them. */
export function keyId(key: Secret): Buffer {
  return createHmac("sha256", key.key).update("countersign token key").digest().subarray(0, keyIdBytes);
}
