import { errors } from "undici";
import { errorCodeOf } from "../../model/defect.ts";
import { ProxyError } from "../../model/errors.ts";
import { MalformedResponse } from "./response-heads.ts";

/**
 * Turns undici's and Node's errors into ours. Their messages may quote what was sent or received, so only their codes
 * are ever repeated.
 * @param wasWritten whether a byte of the request was written
 */
export function explainTransportError(error: unknown, wasWritten: boolean): ProxyError {
  const causedBy = codeOf(error);
  if (!wasWritten) return new ProxyError("upstream_unreachable", describeUnreachable(causedBy), { causedBy });
  if (isMalformed(error)) {
    return new ProxyError("upstream_bad_response", `The service's answer is not HTTP/1.1 (${causedBy}).`, { causedBy });
  }
  return new ProxyError(
    "upstream_reset",
    `The connection to the service broke before the answer was complete (${causedBy}).`,
    { causedBy },
  );
}

function isMalformed(error: unknown): boolean {
  return (
    error instanceof MalformedResponse ||
    error instanceof errors.HTTPParserError ||
    error instanceof errors.HeadersOverflowError ||
    error instanceof errors.ResponseContentLengthMismatchError ||
    codeOf(error).startsWith("HPE_")
  );
}

/** What `openPool` calls a reset of an established connection, so that undici sees a failure in it. */
export const resetCode = "ECONNABORTED";

/** A code such as ECONNREFUSED or CERT_HAS_EXPIRED; `UNKNOWN` for anything that does not look like one. */
export function codeOf(error: unknown): string {
  const code = errorCodeOf(error) ?? "UNKNOWN";
  return code === resetCode ? "ECONNRESET" : code;
}

function describeUnreachable(code: string): string {
  switch (code) {
    case "ECONNREFUSED":
      return "The service refuses connections (ECONNREFUSED).";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `The name of the service's host could not be resolved (${code}).`;
    case "UND_ERR_CONNECT_TIMEOUT":
    case "ETIMEDOUT":
      return `The service did not accept a connection in time (${code}).`;
    case "ECONNRESET":
    case "UND_ERR_SOCKET":
      return `The service closed the connection while it was being set up (${code}).`;
    default:
      return /CERT|TLS|SSL|EPROTO|SIGNED|ISSUER|ALTNAME|VERIFY/.test(code)
        ? `The service's TLS certificate or protocol is not acceptable (${code}); see tls.caFile for a private CA.`
        : `No connection to the service (${code}).`;
  }
}
