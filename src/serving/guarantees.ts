import { connectionOptions, type HeaderLines } from "../http/headers.ts";
import { ProxyError } from "../model/errors.ts";
import { nearestWithin } from "../model/names.ts";

/** Request headers that ask for one guarantee. */
export interface Guarantee {
  /** The best known of the headers. */
  readonly header: string;
  /** The names, in lower case. */
  readonly names: RegExp;
  /** Continues "The header asks". */
  readonly asks: string;
  /** How the caller gets the guarantee, or why not from Countersign. */
  readonly fix: string;
  /** The service cannot give it. */
  readonly isForUs?: true;
  /** Default: 400. */
  readonly status?: number;
}

/**
 * Every header that asks for a guarantee which Countersign does not give for it. The caller relies on the guarantee, so to
 * drop the header would be worse than to refuse the request. Wishes and information are dropped, and credentials replaced.
 */
export const guarantees: readonly Guarantee[] = [
  {
    header: "Idempotency-Key",
    // Also X-Idempotency-Key, Idempotence-Key and those with a company's name; Repeatability-* is of OASIS.
    names: /dempot|dedup|^repeatability-|^paypal-request-id$/,
    asks: "that the request takes effect once",
    fix: "Send Countersign-Once, or set once.header to Idempotency-Key and send that; both need Redis.",
  },
  {
    header: "If-Match",
    names: /^(?:x-)?if(?:-match|-none-match|-unmodified-since|-schedule-tag-match)?$/,
    asks: "that the request is carried out in a certain state only",
    fix: "Leave it out.",
  },
  {
    header: "Content-Digest",
    // Those with a hash in their name are of object stores.
    names: /^(?:x-)?(?:content-md5|(?:content-|repr-|unencoded-)?digest)$|(?:^|-)content-sha\d+$/,
    asks: "that a damaged body is refused",
    fix: "Countersign sends a body of its own, so the service cannot check what covers yours.",
  },
  {
    header: "Request-Timeout",
    // Envoy adds x-envoy-expected-rq-timeout-ms by itself, to tell its own limit.
    names: /^(?!countersign-|x-envoy-expected-)(?:.*-)?(?:timeout|deadline)(?:-|$)/,
    asks: "that the request ends within a time",
    fix: "Send Countersign-Timeout-Ms.",
  },
  {
    header: "Dry-Run",
    names: /(?:^|-)(?:dry-?run|validate-only)$/,
    asks: "that nothing is carried out",
    fix: "Call a sandbox environment.",
  },
  {
    header: "Early-Data",
    names: /^early-data$/,
    asks: "that the request is refused if it could be a replay (RFC 8470)",
    fix: "Send it again when the TLS handshake is complete.",
    status: 425,
    isForUs: true,
  },
];

/** Tells most names at once from those that ask for a guarantee or may be misspelt. */
const anyGuarantee = new RegExp(`${guarantees.map(({ names }) => names.source).join("|")}|^(?:x-)?i.*key$`, "i");
const [once] = guarantees;
const mostEdits = 3;
const longestShown = 64;

/**
 * Refuses a header that asks for a guarantee which nobody would give.
 * @param isTaken whether Countersign obeys the header of this name, in lower case, or passes it on
 * @throws ProxyError guarantee_not_given
 */
export function checkGuarantees(headers: HeaderLines, isTaken: (name: string) => boolean): void {
  for (let index = 0; index < headers.length; index += 2) {
    const given = headers[index] ?? "";
    if (!anyGuarantee.test(given)) continue;
    const name = given.toLowerCase();
    const asked = findGuarantee(name);
    // What Connection names is not passed on.
    const isGiven = isTaken(name) && !connectionOptions(headers).includes(name);
    if (asked !== undefined && !isGiven) throw refuse(given, asked);
  }
}

function findGuarantee(name: string): Guarantee | undefined {
  const isMisspelt = () => nearestWithin(name.replace(/^x-/, ""), ["Idempotency-Key"], mostEdits) !== undefined;
  return guarantees.find(({ names }) => names.test(name)) ?? (isMisspelt() ? once : undefined);
}

function refuse(given: string, { asks, fix, isForUs, status }: Guarantee): ProxyError {
  const shown = given.length <= longestShown ? given : `${given.slice(0, longestShown)}…`;
  const what = `The header ${shown} asks ${asks}, and Countersign does not see to that.`;
  const pass = isForUs ? "" : " If the service does, list the header in the environment's forwardHeaders.";
  return new ProxyError("guarantee_not_given", `${what} ${fix}${pass}`, { causedBy: shown, status });
}
