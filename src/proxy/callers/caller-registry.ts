import type { Caller } from "../../model/caller.ts";
import { SecretLookup } from "../../model/secret.ts";
import type { RateLimit } from "./rate-limit.ts";

/** A caller, with the count of its requests where they are limited. */
export interface KnownCaller extends Pick<Caller, "name" | "sites" | "operations" | "requestsPerSecond"> {
  readonly rate: RateLimit | undefined;
}

/** A caller, and what proves it. */
export type RegisteredCaller = KnownCaller & Pick<Caller, "tokens" | "certificates">;

/** The callers of one listener, by what proves them. */
export class CallerRegistry {
  /** Whether callers give a token; else the handshake has shown a certificate. */
  readonly byToken: boolean;
  readonly #tokens: SecretLookup<KnownCaller>;
  readonly #certificates: ReadonlyMap<string, KnownCaller>;

  constructor(callers: readonly RegisteredCaller[]) {
    const tokens = callers.flatMap((caller) => caller.tokens.map((token) => [token, caller] as const));
    this.#tokens = new SecretLookup(tokens);
    this.#certificates = new Map(callers.flatMap((caller) => caller.certificates.map((name) => [name, caller])));
    this.byToken = this.#certificates.size === 0;
  }

  findByToken(given: string): KnownCaller | undefined {
    return this.#tokens.find(given);
  }

  /**
   * All callers that have one of these names, each once.
   * @param names as in `certificateNames`
   */
  findByCertificate(names: readonly string[]): readonly KnownCaller[] {
    return [...new Set(names.flatMap((name) => this.#certificates.get(name) ?? []))];
  }
}
