import type { CredentialSet } from "./credential-sets.ts";

/** A token that was handed out. */
export interface Token {
  readonly token: string;
  readonly clientId: string;
  /** The S… of the site whose credentials obtained it. */
  readonly owner: string;
  readonly audience: string;
  readonly environment: string;
  readonly expiresAtMs: number;
}

/** How a planted token differs from an issued one. */
export interface Forgery {
  readonly audience?: string;
  readonly environment?: string;
  readonly lifetimeSeconds?: number;
}

/** Issues, finds and revokes tokens. */
export interface TokenIssuer {
  readonly issuedCount: number;
  readonly lifetimeSeconds: number;
  /** `token_1`, `token_2`, …: the name says how many were issued. */
  issue(set: CredentialSet): Token;
  /** Makes a token without a token request, called `planted_1`, …, so that issued tokens keep their numbers. */
  plant(set: CredentialSet, forgery: Forgery): Token;
  find(token: string): Token | undefined;
  isExpired(token: Token): boolean;
  isRevoked(token: Token): boolean;
  revokeAll(): void;
  /** For tokens issued from now on. */
  setLifetimeSeconds(lifetimeSeconds: number): void;
}

export interface TokenIssuerOptions {
  readonly environment: string;
  readonly prefix: string;
  readonly lifetimeSeconds: number;
  readonly nowMs: () => number;
}

/** Beyond this the oldest tokens are forgotten, and then refused like unknown ones. */
const rememberedTokens = 100_000;

export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { environment, prefix, nowMs } = options;
  const tokens = new Map<string, Token>();
  const revoked = new WeakSet<Token>();
  let lifetimeSeconds = checkedLifetime(options.lifetimeSeconds);
  let issuedCount = 0;
  let plantedCount = 0;

  const remember = (name: string, set: CredentialSet, forgery: Forgery): Token => {
    const { clientId, owner } = set;
    const expiresAtMs = nowMs() + (forgery.lifetimeSeconds ?? lifetimeSeconds) * 1000;
    const audience = forgery.audience ?? set.audience;
    const token = {
      token: name,
      clientId,
      owner,
      audience,
      environment: forgery.environment ?? environment,
      expiresAtMs,
    };
    tokens.set(name, token);
    const [oldest] = tokens.keys();
    if (tokens.size > rememberedTokens && oldest !== undefined) tokens.delete(oldest);
    return token;
  };

  return {
    get issuedCount() {
      return issuedCount;
    },
    get lifetimeSeconds() {
      return lifetimeSeconds;
    },
    issue(set) {
      issuedCount += 1;
      return remember(`${prefix}token_${issuedCount}`, set, {});
    },
    plant(set, forgery) {
      plantedCount += 1;
      return remember(`${prefix}planted_${plantedCount}`, set, forgery);
    },
    find: (token) => tokens.get(token),
    // Valid until issued_at + expires_in; expired from that moment on (spec 3).
    isExpired: (token) => nowMs() >= token.expiresAtMs,
    isRevoked: (token) => revoked.has(token),
    revokeAll() {
      for (const token of tokens.values()) revoked.add(token);
    },
    setLifetimeSeconds(wanted) {
      lifetimeSeconds = checkedLifetime(wanted);
    },
  };
}

function checkedLifetime(lifetimeSeconds: number): number {
  if (Number.isSafeInteger(lifetimeSeconds) && lifetimeSeconds > 0) return lifetimeSeconds;
  throw new Error("a token lifetime is a whole number of seconds above 0");
}
