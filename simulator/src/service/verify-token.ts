import type { CredentialSets } from "./credential-sets.ts";
import { type Refusal, refuse } from "./refusals.ts";
import type { SimulatedSite } from "./sites.ts";
import type { Token, TokenDesk } from "./token-desk.ts";

/** Where tokens are checked: the desk that issued them and the environment that they are presented to. */
export interface TokenRules {
  readonly desk: TokenDesk;
  readonly sets: CredentialSets;
  readonly environment: string;
}

/** Checks the bearer token of a call for the site that it names (spec 5.4, and 7 second row). */
export function verifyToken(presented: string, site: SimulatedSite, rules: TokenRules): Refusal | undefined {
  const { desk, sets, environment } = rules;
  const token = desk.find(presented);
  if (token === undefined) return refuse("token_unknown", "nobody issued this token here");
  if (token.environment !== environment) {
    return refuse("token_of_other_environment", `issued for ${token.environment}, this is ${environment}`);
  }
  if (token.audience !== sets.find(token.clientId)?.audience) {
    return refuse("token_of_other_audience", `issued for another audience than that of client ${token.clientId}`);
  }
  if (desk.isRevoked(token)) return refuse("token_revoked", "the token was revoked");
  if (desk.isExpired(token)) return refuse("token_expired", "the token has expired");
  if (isUsableBy(token, site)) return undefined;
  return refuse("token_not_for_site", `credentials of ${token.owner} do not serve ${site.identifier}`);
}

/** A parent's credentials serve it and its children; a child's serve that child alone (spec 5.4). */
function isUsableBy(token: Token, site: SimulatedSite): boolean {
  return token.owner === site.identifier || token.owner === site.parent;
}
