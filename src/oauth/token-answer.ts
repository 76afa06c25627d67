import { Secret } from "../model/secret.ts";
import type { IssuedToken } from "./token-store.ts";

export type TokenGrant = IssuedToken;

const absentLifetimeSeconds = 300;
const longestLifetimeSeconds = 7 * 86_400;
const longestTokenChars = 16_384;
/** `error` of RFC 6749 section 5.2; its longest registered code has 25 characters. */
const errorCode = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,64}$/;
/** A text that has this much of a secret's beginning is taken for the secret. */
const telltaleChars = 8;
/** `b64token` of RFC 6750 section 2.1: nothing in it can end a header line. */
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Reads a 200 of the token endpoint (spec 2.4, RFC 6749 section 5.1), strictly and once; undefined when it is not
 * surely a bearer token. `expires_in` may be digits in a string; absent it means 300 s, and no token is trusted for
 * longer than 7 days.
 */
export function readTokenAnswer(body: string): TokenGrant | undefined {
  const answer = parseObject(body);
  if (answer === undefined) return undefined;
  const token = readToken(answer["access_token"]);
  const lifetimeSeconds = readLifetimeSeconds(answer["expires_in"]);
  if (token === undefined || lifetimeSeconds === undefined || !isBearer(answer["token_type"])) return undefined;
  return { secret: new Secret(token), lifetimeMs: lifetimeSeconds * 1_000 };
}

/** Why `readTokenAnswer` took no token from this body, for the log: the field that is not as it should be. */
export function whatIsUnsound(body: string): string {
  const answer = parseObject(body);
  if (answer === undefined) return "not a JSON object";
  if (readToken(answer["access_token"]) === undefined) return "access_token";
  return isBearer(answer["token_type"]) ? "expires_in" : "token_type";
}

/**
 * The error code of a failed token request (RFC 6749 section 5.2), such as `invalid_client`, for the log. It is foreign
 * text: only the characters that the RFC allows, bounded, and never one that repeats the secret just sent.
 */
export function readErrorCode(body: string, sent: Secret): string | undefined {
  const code = parseObject(body)?.["error"];
  if (typeof code !== "string" || !errorCode.test(code) || repeats(code, sent.reveal())) return undefined;
  return code;
}

/** Also cut off, or with something in front of it. */
function repeats(text: string, secret: string): boolean {
  return text.includes(secret.slice(0, telltaleChars)) || secret.includes(text);
}

function isBearer(type: unknown): boolean {
  return typeof type === "string" && type.toLowerCase() === "bearer";
}

function parseObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** "undefined" and "null" are what other programs print for a token they do not have. */
function readToken(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "undefined" || value === "null") return undefined;
  return value.length <= longestTokenChars && b64token.test(value) ? value : undefined;
}

function readLifetimeSeconds(value: unknown): number | undefined {
  if (value === undefined) return absentLifetimeSeconds;
  const seconds = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 1) return undefined;
  return Math.min(Math.floor(seconds), longestLifetimeSeconds);
}
