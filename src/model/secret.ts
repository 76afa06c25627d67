import { createSecretKey, hash, type KeyObject, randomBytes } from "node:crypto";
import { inspect } from "node:util";

const masked = "[secret]";

/**
 * A string that cannot be printed by accident: logged, interpolated, inspected or serialised it reads `[secret]`. The bytes
 * are in a KeyObject, outside the JavaScript heap, so a heap snapshot does not show them.
 */
export class Secret {
  readonly #key: KeyObject;
  /** For people: `file /run/…` or `env NAME`. Absent if the configuration has not named it. */
  readonly origin: string | undefined;

  /** @param bytes the secret's bytes, not empty; copied, so the caller may overwrite its own */
  constructor(bytes: Uint8Array | string, origin?: string) {
    this.origin = origin;
    this.#key = createSecretKey(typeof bytes === "string" ? Buffer.from(bytes, "utf8") : Buffer.from(bytes));
  }

  /** The key for HMAC. */
  get key(): KeyObject {
    return this.#key;
  }

  /** Length in bytes. */
  get length(): number {
    return this.#key.symmetricKeySize ?? 0;
  }

  /** The plain text, for the one place that sends it. */
  reveal(): string {
    return this.#key.export().toString("utf8");
  }

  /** For secrets of our own: the time it takes may reveal whether the lengths are the same. */
  equals(other: Secret): boolean {
    return this.#key.equals(other.#key);
  }

  toString(): string {
    return masked;
  }

  toJSON(): string {
    return masked;
  }

  [inspect.custom](): string {
    return masked;
  }
}

/**
 * Finds the secret that equals a text from outside. The time it takes reveals nothing about the secrets, not even their
 * length: it compares digests with random bytes of this process, so that nobody can choose a text by its digest.
 */
export class SecretLookup<Value> {
  readonly #values: ReadonlyMap<string, Value>;

  constructor(entries: readonly (readonly [secret: Secret, value: Value])[]) {
    this.#values = new Map(entries.map(([secret, value]) => [lookupDigestOf(secret), value]));
  }

  find(given: string): Value | undefined {
    return this.#values.get(lookupDigest(Buffer.from(given, "utf8")));
  }
}

const lookupSalt = randomBytes(32);
const lookupDigests = new WeakMap<Secret, string>();

/** Computed once for each secret: a reload changes few of thousands. */
function lookupDigestOf(secret: Secret): string {
  const digest = lookupDigests.get(secret) ?? lookupDigest(secret.key.export());
  lookupDigests.set(secret, digest);
  return digest;
}

/** One call takes a quarter of an HMAC's time. No digest leaves this file, so a length extension is not possible. */
function lookupDigest(bytes: Buffer): string {
  return hash("sha256", Buffer.concat([lookupSalt, bytes]), "base64url");
}

/** SHA-256 of a text's UTF-8, in base64url: 43 characters, however long the text is. */
export function digestOf(text: string): string {
  return hash("sha256", text, "base64url");
}
