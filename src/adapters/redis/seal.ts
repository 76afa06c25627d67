import { createCipheriv, createDecipheriv, createHmac, randomFillSync } from "node:crypto";
import type { RedisAccess } from "../../model/redis-access.ts";
import type { Secret } from "../../model/secret.ts";

const keyIdBytes = 4;
const ivBytes = 12;
const tagBytes = 16;

export type SealKeys = RedisAccess["encryptionKeys"];

/**
 * Encrypts bytes so that only holders of a key can read them, and only under this name: base64url of key id, nonce,
 * ciphertext and tag. The name is authenticated too, so a value moved to another name does not open.
 */
export function seal([key]: SealKeys, name: string, plain: Uint8Array): string {
  const iv = newIv();
  const cipher = createCipheriv("aes-256-gcm", key.key, iv).setAAD(Buffer.from(name, "utf8"));
  return Buffer.concat([keyId(key), iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    "base64url",
  );
}

/** Random bytes for many nonces, since asking for a few takes as long as asking for all. */
const ivs = Buffer.alloc(128 * ivBytes);
let ivsUsed = ivs.length;

function newIv(): Buffer {
  if (ivsUsed === ivs.length) {
    randomFillSync(ivs);
    ivsUsed = 0;
  }
  ivsUsed += ivBytes;
  return ivs.subarray(ivsUsed - ivBytes, ivsUsed);
}

/** Opens what `seal` made; undefined for anything else. */
export function open(keys: SealKeys, name: string, sealed: string): Buffer | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= keyIdBytes + ivBytes + tagBytes) return undefined;
  const id = bytes.subarray(0, keyIdBytes);
  for (const key of keys) {
    const plain = keyId(key).equals(id) ? decrypt(key, name, bytes.subarray(keyIdBytes)) : undefined;
    if (plain !== undefined) return plain;
  }
  return undefined;
}

function decrypt(key: Secret, name: string, bytes: Buffer): Buffer | undefined {
  const decipher = createDecipheriv("aes-256-gcm", key.key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(name, "utf8")).setAuthTag(bytes.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}

const keyIds = new WeakMap<Secret, Buffer>();

/** Distinguishes keys during a rotation, and reveals nothing about them. */
function keyId(key: Secret): Buffer {
  const known = keyIds.get(key);
  if (known !== undefined) return known;
  const id = createHmac("sha256", key.key).update("countersign token key").digest().subarray(0, keyIdBytes);
  keyIds.set(key, id);
  return id;
}
