import { retryAfterMs } from "../http/retry-after.ts";
import type { CredentialSet } from "../model/environment.ts";
import { Secret } from "../model/secret.ts";
import type { IssuedToken } from "./token-store.ts";

/** What came back from the authorization server, as far as HTTP goes. */
export type PostResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly date: string | undefined;
      readonly body: string;
    }
  /** No usable connection or no complete answer; `cause` is a code such as ECONNREFUSED. */
  | { readonly kind: "failed"; readonly cause?: string }
  | { readonly kind: "timed_out" }
  /** Longer than any token answer. */
  | { readonly kind: "too_large" };

/** Posts a form to the authorization server; follows no redirect, and always settles within the timeout. */
export type PostForm = (body: string, timeoutMs: number) => Promise<PostResult>;

/**
 * What one token request came to. `status` is the authorization server's, when it answered. `cause` says why there is no token:
 * a code of the connection, the OAuth error code, or what is wrong with the answer.
 */
export type TokenAnswer =
  | { readonly kind: "issued"; readonly grant: IssuedToken; readonly status: number }
  | (NoToken & { readonly kind: "refused"; readonly status: number })
  | (NoToken & { readonly kind: "throttled"; readonly status: number; readonly retryAfterMs: number | undefined })
  | (NoToken & { readonly kind: "malformed"; readonly status: number | undefined })
  | (NoToken & { readonly kind: "failed"; readonly status: number | undefined })
  | (NoToken & { readonly kind: "timed_out" });

interface NoToken {
  readonly cause?: string | undefined;
}

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
  const result = await post(body, fetchDeadlineMs);
  switch (result.kind) {
    case "failed":
      return { kind: "failed", status: undefined, cause: result.cause };
    case "timed_out":
      return { kind: "timed_out", cause: "no answer" };
    case "too_large":
      return { kind: "malformed", status: undefined, cause: "answer too long" };
    case "answered":
      return readAnswer(result, set, wallMs);
  }
}

/** Spec 7: 401 refuses, 429 throttles, 5xx fails. Other statuses, redirects included, are failures too. */
function readAnswer(
  answer: Extract<PostResult, { kind: "answered" }>,
  set: CredentialSet,
  wallMs: () => number,
): TokenAnswer {
  const { status } = answer;
  if (status === 200) {
    const grant = readToken(answer.body);
    return typeof grant === "string" ? { kind: "malformed", status, cause: grant } : { kind: "issued", grant, status };
  }
  const cause = readErrorCode(answer.body, set.clientSecret);
  if (status === 400 || status === 401 || status === 403) return { kind: "refused", status, cause };
  if (status === 429) {
    const askedMs = retryAfterMs(answer.retryAfter, answer.date, wallMs());
    return { kind: "throttled", status, retryAfterMs: askedMs, cause };
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
