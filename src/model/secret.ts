import { createHash, createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { inspect } from "node:util";

const masked = "[secret]";

/**
 * A string that cannot be printed by accident: logged, interpolated, inspected or serialised it reads `[secret]`.
 * The bytes live in a KeyObject, outside the JavaScript heap, so a heap snapshot does not show them.
 */
export class Secret {
  readonly #key: KeyObject;

  /** @param bytes the secret's bytes, not empty; copied, so the caller may overwrite its own */
  constructor(bytes: Uint8Array | string) {
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

  /** For secrets of our own: how long it takes may tell whether the lengths are the same. */
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
 * Finds which of several secrets a text from outside is. How long it takes tells nothing of them, not even their length:
 * what is compared are digests under a key that is never known outside.
 */
export class SecretLookup<Value> {
  readonly #entries: readonly { readonly digest: Buffer; readonly value: Value }[];
  readonly #key = randomBytes(32);

  constructor(entries: readonly (readonly [secret: Secret, value: Value])[]) {
    this.#entries = entries.map(([secret, value]) => ({ digest: this.#digest(secret.reveal()), value }));
  }

  find(given: string): Value | undefined {
    const digest = this.#digest(given);
    // All are compared, also after one was equal: the time does not tell which one it is.
    const [found] = this.#entries.filter((entry) => timingSafeEqual(entry.digest, digest));
    return found?.value;
  }

  #digest(text: string): Buffer {
    return createHmac("sha256", this.#key).update(text, "utf8").digest();
  }
}

/** SHA-256 of a text's UTF-8, in base64url: 43 characters, however long the text is. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("base64url");
}
