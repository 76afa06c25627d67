import { createSecretKey, type KeyObject } from "node:crypto";
import { inspect } from "node:util";

const masked = "[secret]";

/**
 * A string that cannot be printed by accident: logged, interpolated, inspected or serialised it reads `[secret]`.
 * The bytes live outside the JavaScript heap, so a heap snapshot does not show them.
 */
export class Secret {
  readonly #key: KeyObject;
  /** In memory of its own, not in the pool of small buffers. A KeyObject gives its bytes away slowly. */
  readonly #bytes: Buffer;

  /** @param bytes the secret's bytes, not empty; copied, so the caller may overwrite its own */
  constructor(bytes: Uint8Array | string) {
    const given = typeof bytes === "string" ? Buffer.from(bytes, "utf8") : bytes;
    this.#bytes = Buffer.alloc(given.length);
    this.#bytes.set(given);
    this.#key = createSecretKey(this.#bytes);
  }

  /** The key for HMAC. */
  get key(): KeyObject {
    return this.#key;
  }

  /** Length in bytes. */
  get length(): number {
    return this.#bytes.length;
  }

  /** The plain text, for the one place that sends it. */
  reveal(): string {
    return this.#bytes.toString("utf8");
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
