import type { IncomingMessage } from "node:http";
import { isForm, isJson } from "./media-type.ts";
import { readForm } from "./read-form.ts";
import { readJson } from "./read-json.ts";
import type { SimulatedCredentials } from "./sites.ts";

/** A token request taken apart; the secret goes no further than the check. */
export type Grant =
  | { readonly ok: true; readonly clientId: string; readonly credentials: SimulatedCredentials }
  | {
      readonly ok: false;
      readonly clientId: string | undefined;
      readonly status: number;
      /** The code of RFC 6749 section 5.2 where it has one. */
      readonly error: string;
      readonly refusal: string;
    };

/** Reads a token request: JSON or form, four required strings, `client_credentials` only (spec 4.2). */
export function readGrant(request: IncomingMessage, body: Buffer): Grant {
  const contentType = request.headers["content-type"];
  if (request.url !== "/oauth/token") return refuse(404, "not_found", "tokens are at /oauth/token");
  if (request.method !== "POST") return refuse(405, "method_not_allowed", "tokens are asked for with POST");
  if (!isJson(contentType) && !isForm(contentType)) {
    return refuse(415, "unsupported_media_type", "content-type is neither JSON nor a form");
  }
  const reading = isForm(contentType) ? readForm(body) : readJson(body);
  if (!reading.ok) return refuse(400, "invalid_request", `${reading.code}: ${reading.detail}`);
  const field = (name: string) => reading.parameters.get(name) ?? "";
  const clientId = field("client_id");
  for (const name of ["grant_type", "client_id", "client_secret", "audience"]) {
    if (field(name) === "") return refuse(400, "invalid_request", `${name} is missing or empty`, clientId);
  }
  if (field("grant_type") !== "client_credentials") {
    return refuse(400, "unsupported_grant_type", "grant_type is not client_credentials", clientId);
  }
  const credentials = { clientId, clientSecret: field("client_secret"), audience: field("audience") };
  return { ok: true, clientId, credentials };
}

function refuse(status: number, error: string, refusal: string, clientId?: string): Grant {
  return { ok: false, clientId: clientId || undefined, status, error, refusal };
}
