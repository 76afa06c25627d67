import { Secret } from "../../../src/model/secret.ts";
import type { RefreshResult } from "../../../src/oauth/refresh.ts";
import type { Token } from "../../../src/oauth/token.ts";
import { initialState, type TokenState } from "../../../src/oauth/token-state.ts";

export const thresholds = { dueShare: 0.84, leewayMs: 90_000 };
export const lifetimeMs = 3_600_000;
export const nowMs = 100_000_000;
export const dueAgeMs = 0.84 * lifetimeMs;
export const endAgeMs = lifetimeMs - 90_000;

export function token(id: string, ageMs: number, credential = "S1/blue"): Token {
  return { secret: new Secret(id), id, credential, issuedAtMs: nowMs - ageMs, lifetimeMs };
}

/** Tokens at both edges of each zone. */
export const tokens = {
  none: undefined,
  new: token("a", 0),
  "all but due": token("a", dueAgeMs - 1),
  "just due": token("a", dueAgeMs),
  "due to its last ms": token("a", endAgeMs - 1),
  "at its end": token("a", endAgeMs),
  dead: token("a", lifetimeMs + 1),
} as const;
export type Named = keyof typeof tokens;

export const paused: RefreshResult = {
  kind: "paused",
  pause: { kind: "refused", untilMs: nowMs + 10_000, status: 401 },
};
export const suppressed: RefreshResult = { kind: "suppressed", reason: "limited" };
export const origin = { issuedHere: true, reason: "missing" } as const;

export function stateWith(change: Partial<TokenState>): TokenState {
  return { ...initialState, ...change };
}
