import type { Secret } from "./secret.ts";

/** What a listener shows to its callers, and the authorities that their certificates must come from; PEM texts. */
export interface CallersTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: Secret;
}

/** A token that opens a listener. */
export interface CallerToken {
  /** Says in the log who called. Several tokens of one caller may have the same. */
  readonly name: string;
  readonly token: Secret;
}

/** Who may call a listener, where it is not simply whoever reaches it on loopback or a Unix socket. */
export type Callers =
  /** Written out: something else, such as a network policy, decides who reaches it. */
  | { readonly kind: "anyone" }
  /** Whoever gives one of these in Proxy-Authorization; several while one is replaced by another. */
  | { readonly kind: "tokens"; readonly tokens: readonly CallerToken[] }
  /** Whoever has a certificate of one of the authorities. */
  | { readonly kind: "mtls"; readonly tls: CallersTls };
