import { checkParameters, type ParameterRules } from "./check-parameters.ts";
import type { CredentialSets } from "./credential-sets.ts";
import type { Call } from "./read-call.ts";
import { isJson } from "./read-parameters.ts";
import { type Refusal, refuse } from "./refusals.ts";
import type { Identified, SimulatedSite, SiteDirectory } from "./sites.ts";
import type { Token, TokenIssuer } from "./token-issuer.ts";
import { type SignatureRules, verifySignature } from "./verify-signature.ts";

/** The rules by which a call is judged. */
export interface OrderRules {
  readonly basePath: string;
  readonly directory: SiteDirectory;
  readonly parameters: ParameterRules;
  readonly signature: SignatureRules;
  readonly token: TokenRules;
}

/** Whether the service accepts the call. */
export type Verdict =
  | { readonly accepted: true; readonly operation: string; readonly parameters: ReadonlyMap<string, string> }
  | { readonly accepted: false; readonly refusal: Refusal };

/** Judges a call: transport, body, parameters, then authentication (spec 2.1, 4.1, 5, 7). */
export function verifyOrder(call: Call, rules: OrderRules): Verdict {
  const operation = operationOf(call.target, rules.basePath);
  if (operation === undefined) return refused(refuse("not_found", `operations are below ${rules.basePath}/`));
  const transport = verifyTransport(call);
  if (transport !== undefined) return refused(transport);
  if (!call.reading.ok) return refused(refuse(call.reading.code, call.reading.detail));
  const { parameters } = call.reading;
  const refusal = checkParameters(parameters, rules.parameters) ?? verifySender(call, parameters, rules);
  return refusal === undefined ? { accepted: true, operation, parameters } : refused(refusal);
}

function refused(refusal: Refusal): Verdict {
  return { accepted: false, refusal };
}

/** The operation's name. Any name is accepted: the specification shows only create_order (spec 4.3). */
function operationOf(target: string, basePath: string): string | undefined {
  const [path = ""] = target.split("?", 1);
  if (!path.startsWith(`${basePath}/`)) return undefined;
  const operation = path.slice(basePath.length + 1);
  return /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/.test(operation) ? operation : undefined;
}

function verifyTransport(call: Call): Refusal | undefined {
  if (call.method !== "POST") return refuse("method_not_allowed", "operations are called with POST");
  if (call.target.includes("?")) return refuse("query_string", "parameters are never in the query string (spec 9)");
  if (!isJson(call.contentType)) return refuse("media_type_not_supported", "content-type is not application/json");
  if (call.contentEncoding !== undefined) return refuse("media_type_not_supported", "the body is compressed");
  if (/application\/json|application\/\*|\*\/\*/i.test(call.accept ?? "*/*")) return undefined;
  return refuse("not_acceptable", "accept does not allow application/json");
}

/** The Authorization header decides the method (spec 5.1). */
function verifySender(call: Call, parameters: ReadonlyMap<string, string>, rules: OrderRules): Refusal | undefined {
  const who = rules.directory.identify(parameters.get("site_identifier") ?? "");
  if (who === undefined) return refuse("site_unknown", "no site or key has this site_identifier");
  const { authorization } = call;
  if (authorization.method === "hmac") return verifySignature(parameters, who, rules.signature);
  return verifyBearer(authorization.token, parameters, who, rules.token);
}

function verifyBearer(
  token: string | undefined,
  parameters: ReadonlyMap<string, string>,
  who: Identified,
  rules: TokenRules,
): Refusal | undefined {
  if (token === undefined) return refuse("token_malformed", "Authorization is not one Bearer token");
  if (Number(parameters.get("version")) < 3) return refuse("oauth_not_for_version", "OAuth needs version 3.0 or later");
  if (parameters.has("signature")) return refuse("signature_with_oauth", "signature is omitted with OAuth (spec 5.4)");
  return verifyToken(token, who.site, rules);
}

/** What tokens are checked against: issuer, credential sets and environment. */
export interface TokenRules {
  readonly issuer: TokenIssuer;
  readonly sets: CredentialSets;
  readonly environment: string;
}

/** Checks the bearer token of a call for the site that the call names (spec 5.4, and 7 second row). */
function verifyToken(presented: string, site: SimulatedSite, rules: TokenRules): Refusal | undefined {
  const { issuer, sets, environment } = rules;
  const token = issuer.find(presented);
  if (token === undefined) return refuse("token_unknown", "this token was not issued here");
  if (token.environment !== environment) {
    return refuse("token_of_other_environment", `issued for ${token.environment}, this is ${environment}`);
  }
  if (token.audience !== sets.find(token.clientId)?.audience) {
    return refuse("token_of_other_audience", `issued for another audience than that of client ${token.clientId}`);
  }
  if (issuer.isRevoked(token)) return refuse("token_revoked", "the token was revoked");
  if (issuer.isExpired(token)) return refuse("token_expired", "the token has expired");
  if (isUsableBy(token, site)) return undefined;
  return refuse("token_not_for_site", `credentials of ${token.owner} do not serve ${site.identifier}`);
}

/** A parent's credentials serve the parent and its children; a child's serve only that child (spec 5.4). */
function isUsableBy(token: Token, site: SimulatedSite): boolean {
  return token.owner === site.identifier || token.owner === site.parent;
}
