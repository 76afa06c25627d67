import { endToEndHeaders, type HeaderLines, isCoded, isFramed, nameAmong } from "../http/headers.ts";
import { describeDefect, printable } from "../model/defect.ts";
import { addressOfPage } from "../model/documents.ts";
import { type FailureCode, failures, type Outcome, ProxyError } from "../model/errors.ts";
import { isSafe, type Report, type RequestFinished } from "../model/events.ts";
import { homepage } from "../version.ts";
import type { Context, RequestContext } from "./context.ts";
import type { Answer, UpstreamResponse, WholeAnswer } from "./messages.ts";

const longestClassName = 64;
const retryAfter = ["retry-after"];

/**
 * The service's response as the caller gets it: status and body unchanged, our headers added.
 * @throws ProxyError upstream_bad_response for a transfer coding that was not requested: the caller would not see its header
 */
export function toAnswer(
  response: UpstreamResponse,
  outcome: Outcome,
  context: RequestContext,
  { idleMs, signal }: Pick<Answer, "idleMs" | "signal"> = {},
): Answer {
  if (isCoded(response.headers)) {
    response.discard();
    const what = "The service's answer is in transfer codings that nobody asked for. Only chunked is read, once.";
    throw new ProxyError("upstream_bad_response", what, { causedBy: "Transfer-Encoding" });
  }
  const { requestId, attempts } = context.event;
  const headers = endToEndHeaders(response.headers);
  if (outcome === "unknown" && context.once === undefined) renameRetryAfter(headers);
  headers.push("Countersign-Request-Id", requestId, "Countersign-Outcome", outcome);
  if (attempts > 1) headers.push("Countersign-Attempts", String(attempts));
  if (context.once?.result === "replayed") headers.push("Countersign-Replayed", "true");
  return {
    status: response.status,
    headers,
    body: context.received(response.body),
    isLocal: false,
    isFramed: isFramed(response),
    idleMs,
    signal,
    onSlowReader: (cutOff) => context.admission.buffer?.awaitReader(cutOff),
  };
}

/**
 * Clients send a request again when Retry-After says so, some of them by themselves and without end. If that could be a
 * second order, its value goes into a header that no client obeys.
 */
function renameRetryAfter(headers: string[]): void {
  for (let index = 0; index < headers.length; index += 2) {
    if (nameAmong(retryAfter, headers[index]) !== undefined) headers[index] = "Countersign-Retry-After";
  }
}

/**
 * Any error as a ProxyError. A defect is reported and becomes `internal`: `not_sent` if the event says so, else `unknown`.
 * @param where the step in which the error occurred, for the log
 */
export function toProxyError(
  error: unknown,
  where: string,
  { requestId, outcome }: Pick<RequestFinished, "requestId" | "outcome">,
  report: Report,
): ProxyError {
  if (error instanceof ProxyError) return error;
  report({ kind: "defect", where, requestId, error: describeDefect(error) });
  return new ProxyError("internal", "Countersign failed in a way that it should not; its log has the place.", {
    outcome: outcome === "not_sent" ? "not_sent" : "unknown",
    causedBy: error instanceof Error ? printable(error.constructor.name, longestClassName) : undefined,
  });
}

/**
 * The only place where an error becomes an HTTP response: problem details (RFC 9457), and headers that say the same.
 * @param advice whether the request was sent and may be repeated, in whole sentences
 * @param docsUrl the address of the documentation's site, if failures link to it
 * @param more further header lines
 */
export function buildProblem(
  error: ProxyError,
  advice: string,
  { event: { requestId, reference }, elapsedMs }: Context,
  docsUrl: string | undefined,
  more: HeaderLines,
): WholeAnswer {
  const { status, code, outcome } = error;
  const elapsed = status === 504 ? ` ${(elapsedMs / 1_000).toFixed(1)} s had passed by then.` : "";
  const problem = {
    type: failureType(code, docsUrl, homepage),
    title: failures[code].title,
    status,
    detail: `${error.message}${elapsed} ${advice}`,
    code,
    outcome,
    request_id: requestId,
    reference,
    ...error.members,
  };
  const headers = ["Countersign-Error", code];
  if (error.retryAfterMs !== undefined) {
    headers.push("Retry-After", String(Math.max(1, Math.ceil(error.retryAfterMs / 1_000))));
  }
  headers.push(...error.headers, ...more);
  return buildAnswer(status, "application/problem+json", problem, { requestId, outcome }, headers);
}

/**
 * An answer of Countersign's own, as JSON.
 * @param more further header lines
 */
export function buildAnswer(
  status: number,
  contentType: string,
  content: object,
  { requestId, outcome }: Pick<RequestFinished, "requestId" | "outcome">,
  more: HeaderLines = [],
): WholeAnswer {
  // The line feed puts a terminal's prompt on a new line.
  const body = Buffer.from(`${JSON.stringify(content)}\n`);
  const headers = ["Content-Type", contentType, "Content-Length", String(body.length), "Cache-Control", "no-store"];
  headers.push("Countersign-Request-Id", requestId, "Countersign-Outcome", outcome, ...more);
  return { status, headers, body, isLocal: true, isFramed: true };
}

/**
 * The address of a failure's section in the documents: on the configured site, else in the release. A URN without either.
 * @param readme the address of the release's README.md
 */
export function failureType(code: FailureCode, docsUrl: string | undefined, readme: string | undefined): string {
  const isNowhere = docsUrl === undefined && readme === undefined;
  return isNowhere ? `urn:countersign:failure:${code}` : addressOfPage(`reference/errors.md#${code}`, docsUrl, readme);
}

/** Whether the request was sent, and so whether it may be repeated. */
export function adviseOn({ outcome, members }: ProxyError, { operation, event }: RequestContext): string {
  // An earlier request with the same Countersign-Once may have been sent.
  if ("first" in members) return "This request was not sent.";
  if (outcome === "not_sent") return "Nothing was sent.";
  if (isSafe(event))
    return `The request was sent. It is a ${event.method} and changes nothing: send it again as you like.`;
  const effect = operation === "create_order" ? "The order may exist" : "The call may have taken effect";
  const trace = event.reference === undefined ? `request ${event.requestId}` : `reference ${event.reference}`;
  return `${operation ?? "The request"} was sent. ${effect}: look for ${trace} before sending it again.`;
}
