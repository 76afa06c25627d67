import { retryAfterMs } from "../http/date.ts";
import type { AssertionAuth, CredentialSet } from "../model/environment.ts";
import { Secret } from "../model/secret.ts";
import type { Grant } from "./token-store.ts";

/** A response of the token endpoint, not yet parsed. */
export interface TokenResponse {
  readonly kind: "answered";
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
  /** Undefined if it is longer than the body of any response with a token, or if a failure's body broke off. */
  readonly body: string | undefined;
}

/** A token request, ready to be sent. */
export interface TokenRequest {
  readonly contentType: "application/x-www-form-urlencoded" | "application/json";
  readonly body: string;
  /** Only for a client that authenticates by HTTP Basic. */
  readonly authorization?: string;
}

/** The claims of a client about itself (RFC 7523 section 3). Times in seconds. */
export interface AssertionClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
}

/** A token of the platform, as read from a file, to be sent as the assertion (RFC 7523 section 2.2). */
export interface FileAssertion {
  readonly text: string;
  /** Its `exp` in milliseconds since 1970; undefined if it has none. Only the authorization server verifies it. */
  readonly expiresAtMs: number | undefined;
  /** Its `aud`, if that is a text or a list of texts. */
  readonly audience?: string | undefined;
}

export interface TokenEndpoint {
  /** Connects for the next request, and writes nothing. Resolves to why there is no connection, if there is none. */
  readonly connect: (timeoutMs: number) => Promise<NoToken | undefined>;
  /**
   * Posts a token request; follows no redirect, and always settles within the timeout. `failed`: no usable connection or no
   * complete response.
   */
  readonly post: (request: TokenRequest, timeoutMs: number) => Promise<TokenResponse | NoToken>;
  /** Signs an assertion (RFC 7523), with a `jti` that was never used before. `failed`: it cannot be signed. */
  readonly sign: (claims: AssertionClaims, by: AssertionAuth) => Promise<string | NoToken>;
  /** Reads an assertion anew from its file (absolute path). `failed`: the file has none that could be sent. */
  readonly readAssertion: (file: string) => Promise<FileAssertion | NoToken>;
}

export interface Asking {
  readonly wallMs: () => number;
  /** The request ends after this time, however many callers wait for it. */
  readonly timeoutMs: number;
}

/** The result of one token request. `status` is the authorization server's, when it answered. */
export type TokenAnswer = ({ readonly kind: "issued"; readonly grant: Grant; readonly status: number } | NoToken) & {
  /** The remaining life of a file's assertion when it was sent, by its `exp`; negative if it had expired. */
  readonly assertionRemainingMs?: number;
};

/** `cause` says why: a code of the connection (ECONNREFUSED), the OAuth error code, or what is wrong with the response. */
export type NoToken = { readonly cause?: string | undefined } & (
  | { readonly kind: "refused"; readonly status: number }
  | { readonly kind: "throttled"; readonly status: number; readonly retryAfterMs: number | undefined }
  | {
      readonly kind: "malformed";
      readonly status?: number | undefined;
      /** The server's token is about to end: after this time it has another one. */
      readonly successorAfterMs?: number | undefined;
    }
  | {
      readonly kind: "failed" | "timed_out";
      readonly status?: number | undefined;
      /** Only of a 503. */
      readonly retryAfterMs?: number | undefined;
    }
);

/** The cause of a request that got no answer in time. */
export const noAnswer = "no answer";

/** The cause of a request that was not made, since its assertion could not be signed. */
export const notSigned = "assertion not signed";

/** Whether no request was made, since there was no assertion to send. The cause says why. */
export function isNotAsked({ status, cause }: Partial<Pick<NoToken, "status" | "cause">>): boolean {
  return status === undefined && cause?.startsWith("assertion ") === true;
}

/** A server that gives one token until it ends says so in the token's last second. There is no token yet, but soon. */
const ending = "expires_in 0";
const endingMs = 1_000;
const absentLifetimeMs = 300_000;
/** Short, since an assertion is used once and at once; clocks may differ by nearly as much. */
const assertionSeconds = 60;
const longestLifetimeSeconds = 7 * 86_400;
const longestTokenChars = 16_384;
/** A signed JWT in its compact form (RFC 7515 section 7.1). */
const signedJwt = /^[\w-]+\.([\w-]+)\.[\w-]+$/;
/** `error` of RFC 6749 section 5.2; its longest registered code has 25 characters. */
const errorCode = /^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,64}$/;
/** A text that contains this many characters of a secret's beginning counts as the secret. */
const secretPrefixChars = 8;
/** `b64token` of RFC 6750 section 2.1: nothing in it can end a header line. */
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/;

/** The client credentials grant (RFC 6749 section 4.4, spec 4.2). */
export async function requestToken(
  endpoint: Omit<TokenEndpoint, "connect">,
  set: CredentialSet,
  { wallMs, timeoutMs }: Asking,
): Promise<TokenAnswer> {
  const nowMs = wallMs();
  const assertion = await assertionOf(set, endpoint, nowMs);
  if (assertion !== undefined && "kind" in assertion) return assertion;
  const { text, expiresAtMs } = assertion ?? {};
  const response = await endpoint.post(tokenRequest(set, text), timeoutMs);
  const answer = response.kind === "answered" ? readResponse(response, set, text, wallMs) : response;
  return expiresAtMs === undefined ? answer : { ...answer, assertionRemainingMs: expiresAtMs - nowMs };
}

/** The set's assertion, or why there is none; undefined if the set uses none. An expired one is sent: clocks may differ. */
async function assertionOf(
  set: CredentialSet,
  { sign, readAssertion }: Pick<TokenEndpoint, "sign" | "readAssertion">,
  nowMs: number,
): Promise<Partial<FileAssertion> | NoToken | undefined> {
  const clientAuth = set.token?.clientAuth;
  if (clientAuth?.method === "assertion") return readAssertion(clientAuth.file);
  if (clientAuth?.method !== "private_key_jwt") return undefined;
  const signed = await sign(claimsOf(set, clientAuth, nowMs), clientAuth);
  return typeof signed === "string" ? { text: signed } : signed;
}

/** The client is both issuer and subject; the claims are for this server only, and for a short time. */
function claimsOf({ clientId }: CredentialSet, { audience }: AssertionAuth, nowMs: number): AssertionClaims {
  const iat = Math.floor(nowMs / 1_000);
  return { iss: clientId, sub: clientId, aud: audience, iat, exp: iat + assertionSeconds };
}

/**
 * The request to be sent: a form with the credentials in the body, unless the set says otherwise.
 * @param assertion only for `private_key_jwt` and `assertion`
 */
function tokenRequest(set: CredentialSet, assertion?: string): TokenRequest {
  const { audience, token } = set;
  const authorization = basicCredentials(set);
  const fields: [name: string, value: string | undefined][] = [
    ["grant_type", "client_credentials"],
    ...(authorization === undefined ? clientFields(set, assertion) : []),
    ["audience", audience],
    ["scope", token?.scope],
    ["resource", token?.resource],
    ...Object.entries(token?.extra ?? {}),
  ];
  const given = fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, string]]));
  const request: TokenRequest =
    token?.body === "json"
      ? { contentType: "application/json", body: JSON.stringify(Object.fromEntries(given)) }
      : { contentType: "application/x-www-form-urlencoded", body: new URLSearchParams(given).toString() };
  return authorization === undefined ? request : { ...request, authorization };
}

/** Client id and secret (spec 4.2), client id and assertion (RFC 7523 section 2.2), or the client id alone (RFC 8705). */
function clientFields({ clientId, clientSecret, token }: CredentialSet, assertion?: string) {
  const type = token?.clientAuth.method === "assertion" ? token.clientAuth.type : "jwt-bearer";
  const fields: [name: string, value: string | undefined][] = [
    ["client_id", clientId],
    ["client_secret", clientSecret?.reveal()],
    ["client_assertion_type", assertion && `urn:ietf:params:oauth:client-assertion-type:${type}`],
    ["client_assertion", assertion],
  ];
  return fields;
}

/**
 * The value of Authorization; undefined if the client does not use HTTP Basic. Form-encoded, a colon inside the two parts differs
 * from the colon between them. A blank is `%20`, which servers decode that do not know `+`.
 */
function basicCredentials({ clientId, clientSecret, token }: CredentialSet): string | undefined {
  const method = token?.clientAuth.method;
  if (method !== "basic" && method !== "basic_raw") return undefined;
  const encode = method === "basic" ? (text: string) => formEncode(text).replaceAll("+", "%20") : String;
  const userPass = `${encode(clientId)}:${encode(clientSecret?.reveal() ?? "")}`;
  return `Basic ${Buffer.from(userPass, "utf8").toString("base64")}`;
}

function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

/** Spec 7: 401 is refused, 429 throttled, 5xx failed. 400 and 403 are refused too; other statuses, also redirects, failed. */
function readResponse(
  response: TokenResponse,
  set: CredentialSet,
  assertion: string | undefined,
  wallMs: () => number,
): TokenAnswer {
  const { status, body, retryAfter, date } = response;
  if (status === 200) {
    const grant = body === undefined ? "answer too long" : readToken(body, set.token?.lifetimeMs);
    if (typeof grant !== "string") return { kind: "issued", grant, status };
    return { kind: "malformed", status, cause: grant, successorAfterMs: grant === ending ? endingMs : undefined };
  }
  const cause = readErrorCode(body ?? "", secretsIn(set, assertion));
  if (status === 400 || status === 401 || status === 403) return { kind: "refused", status, cause };
  const demandedMs = retryAfterMs(retryAfter, date, wallMs());
  if (status === 429) return { kind: "throttled", status, retryAfterMs: demandedMs, cause };
  return { kind: "failed", status, retryAfterMs: status === 503 ? demandedMs : undefined, cause };
}

/**
 * Reads a 200 of the token endpoint (spec 2.4, RFC 6749 section 5.1), strictly and once. `expires_in` may be digits in a
 * string, and no token is trusted for longer than 7 days.
 * @param absentMs the lifetime if `expires_in` is absent
 * @returns the bearer token; or the first field that is wrong, for the log
 */
export function readToken(
  body: string,
  absentMs = absentLifetimeMs,
): Grant | "not a JSON object" | "access_token" | "token_type" | "expires_in" | typeof ending {
  const answer = parseObject(body);
  if (answer === undefined) return "not a JSON object";
  const { access_token: token, token_type: type, expires_in: expiresIn } = answer;
  // "undefined" and "null" are what other programs print for a token they do not have.
  if (typeof token !== "string" || token === "undefined" || token === "null") return "access_token";
  if (token.length > longestTokenChars || !b64token.test(token)) return "access_token";
  if (typeof type !== "string" || type.toLowerCase() !== "bearer") return "token_type";
  if (expiresIn === 0 || expiresIn === "0") return ending;
  const lifetimeMs = expiresIn === undefined ? absentMs : readLifetimeMs(expiresIn);
  return lifetimeMs === undefined ? "expires_in" : { secret: new Secret(token), lifetimeMs };
}

function readLifetimeMs(value: unknown): number | undefined {
  const seconds = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 1) return undefined;
  return Math.min(Math.floor(seconds), longestLifetimeSeconds) * 1_000;
}

/**
 * The error code of a failed token request (RFC 6749 section 5.2), such as `invalid_client`, for the log. It is foreign
 * text: only the characters that the RFC allows, bounded, and never a part of a secret just sent, nor a text with its beginning.
 */
function readErrorCode(body: string, sent: readonly string[]): string | undefined {
  const code = parseObject(body)?.["error"];
  if (typeof code !== "string" || !errorCode.test(code)) return undefined;
  const isSecret = sent.some((secret) => code.includes(secret.slice(0, secretPrefixChars)) || secret.includes(code));
  return isSecret ? undefined : code;
}

/** The secrets of a token request, in each form in which it can have them: in JSON, in a form, by HTTP Basic. */
function secretsIn(set: CredentialSet, assertion: string | undefined): string[] {
  const secret = set.clientSecret?.reveal();
  if (assertion !== undefined) return [assertion, ...assertion.split(".")];
  if (secret === undefined) return [];
  return [secret, formEncode(secret), basicCredentials(set)?.slice("Basic ".length) ?? secret];
}

/**
 * Reads a signed JWT, without verifying it.
 * @returns the JWT; or what is wrong with the text
 */
export function parseAssertion(text: string): FileAssertion | "empty" | "no signed JWT" {
  if (text === "") return "empty";
  const [, payload] = (text.length <= longestTokenChars && signedJwt.exec(text)) || [];
  const claims = payload === undefined ? undefined : parseObject(Buffer.from(payload, "base64url").toString("utf8"));
  if (claims === undefined) return "no signed JWT";
  const { exp, aud } = claims;
  const audiences = [aud].flat();
  const audience = audiences.every((each) => typeof each === "string") ? audiences.join(", ") || undefined : undefined;
  return { text, expiresAtMs: typeof exp === "number" ? exp * 1_000 : undefined, audience };
}

function parseObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
