import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { inspect } from "node:util";

const masked = "[secret]";
const digestName = "sha256";
const digestBytes = 32;

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

  /**
   * Whether a text from outside is this secret. How long it takes tells nothing of the secret, not even its length: what
   * is compared are digests under a key that is never known outside, made anew each time.
   */
  matches(given: string): boolean {
    const once = randomBytes(digestBytes);
    const digest = (content: Uint8Array) => createHmac(digestName, once).update(content).digest();
    return timingSafeEqual(digest(Buffer.from(given, "utf8")), digest(this.#key.export()));
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
