import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Secret } from "./secret.ts";

const keyBytes = 32;

/**
 * Finds which of several secrets a text from outside is. How long it takes tells nothing of them, not even their length:
 * what is compared are digests under a key that is never known outside.
 */
export class SecretLookup<Value> {
  readonly #entries: readonly { readonly digest: Buffer; readonly value: Value }[];
  readonly #key = randomBytes(keyBytes);

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
