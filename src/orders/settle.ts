import type { FoundClaim } from "../claims/claim.ts";
import type { Environment } from "../model/environment.ts";
import { failures, ProxyError } from "../model/errors.ts";
import type { OutcomeSettled, Report, RequestFinished } from "../model/events.ts";
import { listNames } from "../model/names.ts";
import { failureType } from "../serving/answer.ts";
import { checkOnceKey } from "../serving/request-options.ts";
import { chooseSite } from "../serving/site.ts";
import { homepage } from "../version.ts";
import { endOf, formatEnd, formatTime, nameOf, type OnceRules, openNote, sharedOf, withoutRedis } from "./once.ts";

/** A request whose outcome is unknown, as the process that served it remembers it. */
export interface UnknownOutcome extends Pick<RequestFinished, "environment" | "site" | "reference" | "onceName"> {
  readonly requestId: string;
  /** Undefined until the event is reported that settles it. */
  readonly settled: OutcomeSettled | undefined;
}

interface SettleParts {
  readonly report: Report;
  readonly environments: ReadonlyMap<string, Environment>;
  readonly once: OnceRules;
  /** @returns undefined if this process has served no such request, or has forgotten it */
  readonly find: (requestId: string) => UnknownOutcome | undefined;
}

/** What somebody has found who looked for a request's effect. */
interface Verdict {
  /** Whether it took effect. */
  readonly found: boolean;
  /** For the next reader, such as the service's number of the order. */
  readonly note?: string;
  /** The request's Countersign-Once, which a process needs that has not served the request; with its environment and site. */
  readonly key?: string;
  readonly environment?: string;
  readonly site?: string;
}

const longestNote = 200;
const noteForm = /^\P{C}*$/u;

/**
 * Settles the unknown outcome of one request. With `found` a repetition of its once key is refused for good; without, the key is
 * free again. The claim changes in one step in Redis, and only while it is this request's and unknown: so a late answer of
 * the service is never overwritten, and a key is freed once. Settling again in the same way changes nothing.
 * @param text the verdict as JSON
 * @throws ProxyError malformed_request, site_not_configured, site_required, outcome_not_listed, outcome_not_unknown, outcome_settled, once_unavailable
 */
export async function settleOutcome(requestId: string, text: string, parts: SettleParts): Promise<OutcomeSettled> {
  const verdict = readVerdict(text);
  const known = parts.find(requestId);
  if (known?.settled !== undefined) return settledBefore(known.settled, verdict);
  const { environment, site, reference, onceName } = known ?? named(verdict, parts, requestId);
  const { found, note } = verdict;
  const settled = { kind: "outcome_settled", environment, site, requestId, reference, found, note } as const;
  const key = onceName === undefined ? undefined : await settleKey(onceName, requestId, verdict, parts);
  // A process that has not served the request has nothing to settle but the key.
  if (known === undefined && key === undefined) throw notListed(requestId, "has no key like that in Redis");
  const meanwhile = parts.find(requestId)?.settled;
  if (meanwhile !== undefined) return settledBefore(meanwhile, verdict);
  const event = { ...settled, key };
  parts.report(event);
  return event;
}

/** @throws ProxyError outcome_settled */
function settledBefore(settled: OutcomeSettled, { found }: Verdict): OutcomeSettled {
  if (settled.found !== found) throw settledOtherwise(settled);
  return settled;
}

/** The request as a process sees it that has not served it. */
function named(
  { key, environment: name, site: identifier }: Verdict,
  { environments }: SettleParts,
  requestId: string,
) {
  if (key === undefined) {
    throw notListed(
      requestId,
      "is not among this process's: ask the process that served it, or give the request's key",
    );
  }
  checkOnceKey(key);
  const [only, ...others] = environments.values();
  const environment = name === undefined && others.length === 0 ? only : environments.get(name ?? "");
  if (environment === undefined) throw malformed(`environment must be one of ${listNames([...environments.keys()])}`);
  const { site } = chooseSite(environment, { site: identifier, auth: undefined }, undefined);
  const onceName = nameOf(key, environment, site);
  return { environment: environment.name, site: site.identifier, reference: undefined, onceName };
}

/** @returns undefined if Redis has no such key of this request: it has ended, or was freed */
async function settleKey(
  name: string,
  holder: string,
  { found, note }: Verdict,
  { once }: SettleParts,
): Promise<OutcomeSettled["key"]> {
  const { claims, sealing } = sharedOf(once);
  const terms = { kind: "once", key: name, holder, lifetimeMs: once.lifetimeMs } as const;
  const decide = (claim: FoundClaim) => {
    const end = endOf(claim);
    if (end?.outcome === "unknown") {
      const sealed = note === undefined ? undefined : sealing.seal(name, Buffer.from(note));
      return found ? { value: formatEnd({ ...end, sealed }) } : "release";
    }
    // The service has answered: its answer says more than any search.
    if (end === undefined || (end.outcome === "answered" && !found)) throw notUnknown(claim, end?.status);
    if (!found) throw settledOtherwise({ found: true, note: openNote(end, name, sealing) });
    return undefined;
  };
  const claim = await claims.decide(terms, decide).catch((error: unknown) => {
    throw error instanceof ProxyError ? error : withoutRedis();
  });
  if (claim === undefined) return undefined;
  return found ? "used" : "free";
}

/** @throws ProxyError malformed_request */
function readVerdict(text: string): Verdict {
  const verdict = parse(text);
  const { found, note, ...rest } = verdict;
  if (typeof found !== "boolean") throw malformed("found must be true or false");
  if (note !== undefined && (typeof note !== "string" || note.length > longestNote || !noteForm.test(note))) {
    throw malformed(`note must be a text of at most ${longestNote} printable characters`);
  }
  for (const [name, value] of Object.entries(rest)) {
    if (!["key", "environment", "site"].includes(name)) throw malformed(`it has only ${members}`);
    if (typeof value !== "string") throw malformed(`${name} must be a text`);
  }
  return verdict as unknown as Verdict;
}

const members = "found, note, key, environment and site";

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Refused as any other text.
  }
  throw malformed(`it must be a JSON object with ${members}`);
}

function malformed(what: string): ProxyError {
  return new ProxyError("malformed_request", `The body is not understood: ${what}.`);
}

function notListed(requestId: string, what: string): ProxyError {
  return new ProxyError("outcome_not_listed", `The request ${requestId} ${what}.`);
}

function notUnknown({ untilMs }: FoundClaim, status: number | undefined): ProxyError {
  const what =
    status === undefined
      ? `The request may be under way until ${formatTime(untilMs)}.`
      : `The service has answered the request with status ${status}.`;
  return new ProxyError("outcome_not_unknown", what);
}

function settledOtherwise({ found, note }: Pick<OutcomeSettled, "found" | "note">): ProxyError {
  const noted = note === undefined ? "" : ` The note says: ${note}`;
  return new ProxyError("outcome_settled", `It was settled before: ${found ? "found" : "not found"}.${noted}`);
}

/**
 * The answer of the status port: what was settled, or a problem (RFC 9457).
 * @param docsUrl the address of the documentation's site, if failures link to it
 */
export async function answerSettlement(settling: Promise<OutcomeSettled>, docsUrl: string | undefined) {
  try {
    const { environment, site, requestId, reference, found, note, key } = await settling;
    const settled = { request_id: requestId, environment, site, reference, found, note, key };
    return { status: 200, contentType: "application/json", text: `${JSON.stringify(settled)}\n` };
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    const { status, code, message: detail } = error;
    const problem = { type: failureType(code, docsUrl, homepage), title: failures[code].title, status, detail, code };
    return { status, contentType: "application/problem+json", text: `${JSON.stringify(problem)}\n` };
  }
}
