import { fixOfClock } from "./clock.ts";
import type { AuthMethod } from "./environment.ts";
import { type FailureCode, failures } from "./errors.ts";
import type { CallbackResult } from "./events.ts";

/** What an answer means, and what to do: clauses, the same in the log, on the status page and in doctor. */
export interface ExplainedAnswer {
  readonly detail: string;
  readonly fix: string;
}

/** What is known besides the answer's status. */
interface Answered {
  /** The environment's path in the configuration; undefined for any environment. */
  readonly path?: string | undefined;
  /** How the request was authenticated, if that is known. */
  readonly auth?: AuthMethod | "none" | undefined;
  /** The answer's media type, if it is not JSON. */
  readonly contentType?: string | undefined;
  /** Whether all requests get this answer, if that is known. */
  readonly isEvery?: boolean;
  /** Whether the service accepts the tokens of other sites of the environment. */
  readonly acceptsOthers?: boolean;
}

/**
 * The likely cause of the service's answer to an operation: its interface defines only some statuses.
 * @returns undefined for an answer that needs no explanation, or has none
 */
export function explainAnswer(
  status: number,
  { path, auth, contentType, isEvery, acceptsOthers }: Answered,
): ExplainedAnswer | undefined {
  const baseUrl = path === undefined ? "the environment's baseUrl" : `${path}.baseUrl`;
  if (status < 300) {
    if (contentType === undefined) return undefined;
    return {
      detail: `it sends ${contentType}, which is no JSON, so perhaps no order exists`,
      fix: `see who answers: a login, a maintenance page or a firewall, or another host than that of ${baseUrl}`,
    };
  }
  if (status < 400) {
    const fix = `correct ${baseUrl} if the host has moved; else see whether a login or a firewall answers`;
    return { detail: "no redirect is followed, so no order exists", fix };
  }
  switch (status) {
    case 401:
      return explainUnauthorized(auth, acceptsOthers);
    case 403:
      return { detail: "it does not allow this site or operation", fix: "see in the portal what the site may do" };
    case 404:
      return explainNotFound(baseUrl, isEvery);
    case 400:
    case 422:
      if (auth === "oauth")
        return { detail: "it does not accept the parameters", fix: "see its answer, which may name one" };
      return {
        detail: "it does not accept the parameters, or with HMAC the key or the signature",
        fix: "compare the key and its version with the portal, then the parameters",
      };
    case 429:
      return { detail: "it gets too many requests", fix: "send fewer, or ask its operator for more" };
  }
  if (status < 500 || status > 599) return undefined;
  return { detail: "it fails, and the request may have had an effect", fix: "see the service's own state" };
}

function explainNotFound(baseUrl: string, isEvery: boolean | undefined): ExplainedAnswer {
  const [all, others] = [`correct the path in ${baseUrl}`, "see what the application asks for"];
  const unsure = `${all}, if all requests get this; else ${others}`;
  return { detail: "it does not know the path", fix: isEvery === undefined ? unsure : isEvery ? all : others };
}

function explainUnauthorized(auth: Answered["auth"], acceptsOthers: boolean | undefined): ExplainedAnswer {
  if (auth === "oauth" && acceptsOthers === true) {
    const fix = "compare the set's audience with the portal, and the site that it is for";
    return { detail: "it does not accept the token, though it accepts those of other sites", fix };
  }
  const ofSet = "compare the set's audience, authUrl and baseUrl with the portal";
  const ofKey = "compare the key and its secret with the portal, and the clock";
  if (auth === "oauth") return { detail: "it does not accept the token", fix: ofSet };
  if (auth === "hmac") return { detail: "it does not accept the signature", fix: ofKey };
  return { detail: "it does not accept the token or the signature", fix: `${ofSet}; with HMAC ${ofKey}` };
}

const thenLook = "look for the order before it is sent again";

const seeRedis = "it needs tokens.cache: redis; countersign doctor says what is wrong with that Redis";

const seeToken = "token_requested says why, and what to do";

/** What to do about a request that failed. `upstream_unreachable` depends on its cause, and other codes are of callbacks alone. */
export const fixes: { readonly [Code in FailureCode]?: string } = {
  malformed_request: "correct the part that the cause names; of TLS or HTTP/2, the client has to speak plain HTTP/1.1",
  guarantee_not_given: "leave that header out, or list it in forwardHeaders",
  body_not_json: "send one JSON object in UTF-8",
  duplicate_parameter: "send each name once",
  secret_in_body: "leave the key or secret out: Countersign proves who the site is",
  query_not_allowed: "send the parameters in the body",
  target_not_allowed: "send plain paths, to this listener's own host; its hosts may have more names",
  operation_not_allowed: "correct the path, or add the operation to the environment's operations",
  site_not_configured: "name a site that the environment has, or configure this one",
  auth_not_configured: "name a site that has this method, or configure it",
  method_not_allowed: "send POST to operations; of CONNECT, write http:// and not https://",
  caller_not_authenticated: "send the token of one of the listener's callers",
  caller_not_known: "configure one name of the certificate as a caller's",
  caller_not_allowed: "add it to the caller's operations or sites",
  caller_rate_limited: "send less, or raise the caller's requestsPerSecond",
  request_timeout: "see what holds up the caller or its network",
  body_too_large: "send less, or raise limits.bodyBytes",
  media_type_not_supported: "send Content-Type: application/json, in UTF-8, uncompressed; curl -d alone sends a form",
  expectation_not_supported: "leave Expect out",
  headers_too_large: "send fewer headers: at most 100 lines, 16 KiB",
  null_value: "leave the parameter out, or give it a value",
  nested_value: "send a plain value",
  decimal_invalid: "send an amount with two digits after the point",
  number_out_of_range: "send a shorter number",
  character_not_allowed: "send letters, digits, hyphen, underscore and period alone, or use OAuth",
  name_not_allowed: "rename the parameter",
  version_mismatch: "leave version out",
  site_conflict: "name one site",
  site_required: "name a site in Countersign-Site, or set defaultSite",
  credentials_refused: seeToken,
  token_unavailable: seeToken,
  upstream_timeout: `see whether the service, or what stands before it, is slow; ${thenLook}`,
  upstream_reset: `see what breaks the connection: the service, or a balancer or firewall before it; ${thenLook}`,
  upstream_bad_response: `see who answers there, and with what; ${thenLook}`,
  overloaded: "send less at once, or raise the limit that the cause names",
  draining: "send to another process: this one ends",
  body_incomplete: `see why the caller broke off; ${thenLook}`,
  already_sent: "nothing: no second order was sent, and the answer says what is known of the first",
  once_in_progress: "send it again later, with the same key",
  once_key_reused: "give each order a key of its own",
  once_unavailable: seeRedis,
  internal: "report the line of its defect",
};

const ofApplication = "see the application's log";

/** What the result of a callback means, and what to do. A code's own meaning is in its row; what to do about `application_unreachable` depends on its cause. */
const callbackResults: { readonly [Result in CallbackResult]?: Partial<ExplainedAnswer> } = {
  delivered: { detail: "the application answered 2xx" },
  declined: { detail: "the application answered something else than 2xx", fix: ofApplication },
  repeated: { detail: "the application had taken it before; it was answered again, and not handed over" },
  parameter_missing: { detail: "it lacks version, site_identifier, timestamp or signature", fix: "see who sends it" },
  site_unknown: {
    detail: "its site or key is not configured",
    fix: "configure that site or key, or see in the portal where its callbacks are to go",
  },
  key_missing: { detail: "its site has no key of its version", fix: "give the site a key of that version" },
  signature_wrong: {
    detail: "it is not signed with the key that it names",
    fix: "compare the key and its secret, and the parameters in exempt, with the portal; if they are right, it is forged",
  },
  timestamp_invalid: { detail: "its timestamp is signed, but not in Unix seconds", fix: "report it to the service" },
  callback_too_old: { fix: "look for the order: the callback may have been delivered before" },
  callback_too_early: { fix: `see this machine's clock: ${fixOfClock}` },
  replay_store_unavailable: { fix: seeRedis },
  application_failed: { fix: ofApplication },
  application_timeout: { fix: `${ofApplication}, or raise its timeout` },
};

/** The result of a callback: the same in the log, on the status page, in doctor and in preview. */
export function explainCallback(result: string): Partial<ExplainedAnswer> {
  return { detail: failures[result as FailureCode]?.meaning, ...callbackResults[result as CallbackResult] };
}

/** Clauses as whole sentences. */
export function inSentences({ detail, fix }: Partial<ExplainedAnswer>): string {
  const clauses = [detail, fix].flatMap((clause) => (clause === undefined ? [] : [clause.replace(/\.$/, "")]));
  return clauses.map((clause) => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`).join(" ");
}
