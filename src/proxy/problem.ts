import { failures, ProxyError } from "../model/errors.ts";
import { printable } from "../model/printable.ts";
import type { RequestContext } from "./context.ts";
import type { ClientResponse, HeaderLine } from "./messages.ts";

const longestClassName = 64;

/** Any error as a ProxyError. A defect becomes `internal`, its outcome as far as the trip knows it. */
export function toProxyError(error: unknown, context: RequestContext): ProxyError {
  if (error instanceof ProxyError) return error;
  const outcome = context.outcome === "not_sent" ? "not_sent" : "unknown";
  return new ProxyError("internal", "Countersign failed in a way that it should not; its log has the place.", {
    outcome,
    causedBy: error instanceof Error ? printable(error.constructor.name, longestClassName) : undefined,
  });
}

/** The only place where an error becomes an HTTP answer: problem details (RFC 9457), and headers that say the same. */
export function failureReply(error: ProxyError, context: RequestContext): ClientResponse {
  const body = Buffer.from(
    JSON.stringify({
      type: `urn:countersign:failure:${error.code}`,
      title: failures[error.code].title,
      status: error.status,
      detail: `${error.message} ${adviseOn(error, context)}`,
      code: error.code,
      outcome: error.outcome,
      request_id: context.requestId,
      reference: context.reference,
    }),
  );
  context.details.responseBytes = body.length;
  return { status: error.status, headers: failureHeaders(error, context, body.length), body };
}

function failureHeaders(error: ProxyError, context: RequestContext, length: number): HeaderLine[] {
  const headers: HeaderLine[] = [
    ["Content-Type", "application/problem+json"],
    ["Content-Length", String(length)],
    ["Cache-Control", "no-store"],
    ["Countersign-Request-Id", context.requestId],
    ["Countersign-Error", error.code],
    ["Countersign-Outcome", error.outcome],
  ];
  if (error.retryAfterMs !== undefined) {
    headers.push(["Retry-After", String(Math.max(1, Math.ceil(error.retryAfterMs / 1_000)))]);
  }
  if (error.allow !== undefined) headers.push(["Allow", error.allow]);
  for (const challenge of error.challenges) headers.push(["Proxy-Authenticate", challenge]);
  if (context.attempts > 1) headers.push(["Countersign-Attempts", String(context.attempts)]);
  return headers;
}

/** What became of the request, and so whether it may be repeated. */
function adviseOn(error: ProxyError, context: RequestContext): string {
  if (error.outcome === "not_sent") return "Nothing was sent.";
  const effect = context.operation === "create_order" ? "The order may exist" : "The call may have taken effect";
  const trace = context.reference === undefined ? `request ${context.requestId}` : `reference ${context.reference}`;
  return `${context.operation ?? "The request"} was sent. ${effect}: look for ${trace} before sending it again.`;
}
