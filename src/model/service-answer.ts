import type { AuthMethod } from "./environment.ts";
import { type Failure, type FailureCode, failures } from "./errors.ts";
import type { CallbackResult } from "./events.ts";

/** What an answer means, and what to do: clauses, the same in the log, on the status page and in doctor. */
export interface ExplainedAnswer {
  readonly detail: string;
  readonly fix: string;
}

/** What is known of them. */
type Explained = { readonly [Part in keyof ExplainedAnswer]?: string | undefined };

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

/** What the result of a callback means, and what to do. Codes have theirs in the table of failures. */
const callbackResults: { readonly [Result in CallbackResult]?: Explained } = {
  delivered: { detail: "the application answered 2xx" },
  declined: { detail: "the application answered something else than 2xx", fix: failures.application_failed.fix },
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
};

/** The result of a callback: the same in the log, on the status page, in doctor and in preview. */
export function explainCallback(result: string): Explained {
  const { meaning: detail, fix }: Partial<Failure> = failures[result as FailureCode] ?? {};
  return { detail, fix, ...callbackResults[result as CallbackResult] };
}

/** Clauses as whole sentences. */
export function inSentences({ detail, fix }: Explained): string {
  const clauses = [detail, fix].flatMap((clause) => (clause === undefined ? [] : [clause.replace(/\.$/, "")]));
  return clauses.map((clause) => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`).join(" ");
}
