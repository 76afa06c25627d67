import { Secret } from "../src/model/secret.ts";
import type { IssuedToken } from "../src/oauth/token-store.ts";

/** A token that was issued at once, and that the authorization server does not repeat. */
export function issued(text: string, lifetimeMs: number): IssuedToken {
  return { secret: new Secret(text), lifetimeMs, issuedWithinMs: 0, isRepeated: false };
}
