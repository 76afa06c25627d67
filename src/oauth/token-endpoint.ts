import { retryAfterMs } from "../http/date.ts";
import type { CredentialSet } from "../model/environment.ts";
import { Secret } from "../model/secret.ts";
import type { IssuedToken } from "./token-store.ts";

/** A response of the token endpoint, not yet read. */
export interface TokenResponse {
  readonly kind: "answered";
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
  readonly body: string;
}

/**
 * Posts a form to the authorization server; follows no redirect, and always settles within the timeout. `failed`: no usable
 * connection or no complete response. `malformed`: longer than any response with a token.
 */
export type PostForm = (body: string, timeoutMs: number) => Promise<TokenResponse | NoToken>;

/** What one token request came to. `status` is the authorization server's, when it answered. */
export type TokenAnswer = { readonly kind: "issued"; readonly grant: IssuedToken; readonly status: number } | NoToken;

/** `cause` says why: a code of the connection (ECONNREFUSED), the OAuth error code, or what is wrong with the response. */
type NoToken = { readonly cause?: string | undefined } & (
  | { readonly kind: "refused"; readonly status: number }
  | { readonly kind: "throttled"; readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly kind: "malformed" | "failed" | "timed_out"; readonly status?: number | undefined }
);

/** A token request ends by itself, however many requests wait for it (row 40). */
export const fetchDeadlineMs = 15_000;
const absentLifetimeSeconds = 300;
const longestLifetimeSeconds = 7 * 86_400;
const longestTokenChars = 16_384;
/** `error` of RFC 6749 section 5.2; its longest registered code has 25 characters. */
const errorCode = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,64}$/;
/** A text that has this much of a secret's beginning is taken for the secret. */
const telltaleChars = 8;
/** `b64token` of RFC 6750 section 2.1: nothing in it can end a header line. */
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/;

/** The client credentials grant (RFC 6749 section 4.4, spec 4.2), as a form with the credentials in the body. */
export async function requestToken(post: PostForm, set: CredentialSet, wallMs: () => number): Promise<TokenAnswer> {
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: set.clientId,
    client_secret: set.clientSecret.reveal(),
    audience: set.audience,
  }).toString();
  const response = await post(body, fetchDeadlineMs);
  return response.kind === "answered" ? readResponse(response, set, wallMs) : response;
}

/** Spec 7: 401 refuses, 429 throttles, 5xx fails. Other statuses, redirects included, are failures too. */
function readResponse(response: TokenResponse, set: CredentialSet, wallMs: () => number): TokenAnswer {
  const { status, body, retryAfter, date } = response;
  if (status === 200) {
    const grant = readToken(body);
    return typeof grant === "string" ? { kind: "malformed", status, cause: grant } : { kind: "issued", grant, status };
  }
  const cause = readErrorCode(body, set.clientSecret);
  if (status === 400 || status === 401 || status === 403) return { kind: "refused", status, cause };
  if (status === 429) {
    return { kind: "throttled", status, retryAfterMs: retryAfterMs(retryAfter, date, wallMs()), cause };
  }
  return { kind: "failed", status, cause };
}

/**
 * Reads a 200 of the token endpoint (spec 2.4, RFC 6749 section 5.1), strictly and once. `expires_in` may be digits in a
 * string; absent it means 300 s, and no token is trusted for longer than 7 days.
 * @returns the field that is not as it should be, for the log, unless it is surely a bearer token
 */
export function readToken(
  body: string,
): IssuedToken | "not a JSON object" | "access_token" | "token_type" | "expires_in" {
  const answer = parseObject(body);
  if (answer === undefined) return "not a JSON object";
  const { access_token: token, token_type: type, expires_in: expiresIn } = answer;
  // "undefined" and "null" are what other programs print for a token they do not have.
  if (typeof token !== "string" || token === "undefined" || token === "null") return "access_token";
  if (token.length > longestTokenChars || !b64token.test(token)) return "access_token";
  if (typeof type !== "string" || type.toLowerCase() !== "bearer") return "token_type";
  const seconds = readLifetimeSeconds(expiresIn);
  return seconds === undefined ? "expires_in" : { secret: new Secret(token), lifetimeMs: seconds * 1_000 };
}

function readLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined) return absentLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 1) return undefined;
  return Math.min(Math.floor(seconds), longestLifetimeSeconds);
}

/**
 * The error code of a failed token request (RFC 6749 section 5.2), such as `invalid_client`, for the log. It is foreign
 * text: only the characters that the RFC allows, bounded, and never one that repeats the secret just sent, cut off or not.
 */
function readErrorCode(body: string, sent: Secret): string | undefined {
  const code = parseObject(body)?.["error"];
  if (typeof code !== "string" || !errorCode.test(code)) return undefined;
  const secret = sent.reveal();
  return code.includes(secret.slice(0, telltaleChars)) || secret.includes(code) ? undefined : code;
}

function parseObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
