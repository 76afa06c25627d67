import type { IncomingMessage } from "node:http";
import { type ParametersReading, readJson } from "./read-parameters.ts";

/** How a call authenticates: the header decides (spec 5.1). */
export type Authorization =
  | { readonly method: "hmac" }
  | { readonly method: "oauth"; readonly token: string | undefined };

/** One request to the JSON API, parsed but not judged. */
export interface Call {
  readonly method: string;
  readonly target: string;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly accept: string | undefined;
  readonly authorization: Authorization;
  readonly body: Buffer;
  readonly reading: ParametersReading;
}

export function readCall(request: IncomingMessage, body: Buffer): Call {
  const { headers, method = "", url: target = "" } = request;
  const { authorization } = request.headersDistinct;
  return {
    method,
    target,
    contentType: headers["content-type"],
    contentEncoding: headers["content-encoding"],
    accept: headers.accept,
    authorization: readAuthorization(authorization),
    body,
    reading: readJson(body),
  };
}

/** A header that is not one bearer token is OAuth with a malformed token, never a reason to fall back to HMAC. */
function readAuthorization(lines: readonly string[] | undefined): Authorization {
  if (lines === undefined) return { method: "hmac" };
  const [, token] = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(lines.length === 1 ? (lines[0] ?? "") : "") ?? [];
  return { method: "oauth", token };
}
