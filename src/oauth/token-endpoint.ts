import { retryAfterMs } from "../http/date.ts";
import type { CredentialSet } from "../model/environment.ts";
import { readErrorCode, readTokenAnswer, type TokenGrant, whatIsUnsound } from "./token-answer.ts";

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
  | { readonly kind: "issued"; readonly grant: TokenGrant; readonly status: number }
  | (NoToken & { readonly kind: "refused"; readonly status: number })
  | (NoToken & { readonly kind: "throttled"; readonly status: number; readonly retryAfterMs: number | undefined })
  | (NoToken & { readonly kind: "malformed"; readonly status: number | undefined })
  | (NoToken & { readonly kind: "failed"; readonly status: number | undefined })
  | (NoToken & { readonly kind: "timed_out" });

interface NoToken {
  readonly cause?: string | undefined;
}

/** A fetch ends by itself, however many callers come and go (row 40). */
export const fetchDeadlineMs = 15_000;

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
      return judge(result, set, wallMs);
  }
}

/** Spec 7: 401 refuses, 429 throttles, 5xx fails. Other statuses, redirects included, are failures too. */
function judge(
  answer: Extract<PostResult, { kind: "answered" }>,
  set: CredentialSet,
  wallMs: () => number,
): TokenAnswer {
  const { status } = answer;
  if (status === 200) {
    const grant = readTokenAnswer(answer.body);
    if (grant !== undefined) return { kind: "issued", grant, status };
    return { kind: "malformed", status, cause: whatIsUnsound(answer.body) };
  }
  const cause = readErrorCode(answer.body, set.clientSecret);
  if (status === 400 || status === 401 || status === 403) return { kind: "refused", status, cause };
  if (status === 429) {
    const askedMs = retryAfterMs(answer.retryAfter, answer.date, wallMs());
    return { kind: "throttled", status, retryAfterMs: askedMs, cause };
  }
  return { kind: "failed", status, cause };
}
