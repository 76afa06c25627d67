import { explainConnectFailure, type Peer } from "../../model/connect-failure.ts";
import { errorCodeOf } from "../../model/defect.ts";
import { ProxyError, shutDown } from "../../model/errors.ts";

/** A failure of a connection without an error from Node. The code is ours, and quotes nothing that was received. */
export class TransportError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The bytes that came are no response in HTTP/1.1. */
export class MalformedResponse extends TransportError {}

/** The cause of a failure by an answer whose head is too long: the setting that allows a longer one. */
export const longHeadCause = "limits.responseHeaderBytes";

/** The response's head is longer than `limits.responseHeaderBytes`. */
export class HeadTooLong extends MalformedResponse {
  constructor() {
    super("HEAD_TOO_LONG");
  }
}

/** The response that came cannot be the answer to its request. */
export class ForeignResponse extends TransportError {}

export const poolClosedCode = "POOL_CLOSED";
/** An answer over TLS ended only with the close, and nothing proves that the service closed. */
export const unframedOverTlsCode = "UNFRAMED_OVER_TLS";

/**
 * Turns Node's errors, and those above, into a ProxyError. Messages may quote bytes that were sent or received, so only codes
 * are ever repeated.
 * @param wasWritten whether a byte of the request was written
 */
export function explainTransportError(error: unknown, wasWritten: boolean): ProxyError {
  const causedBy = codeOf(error);
  // Pools are closed while a request is under way only if the process ends.
  if (causedBy === poolClosedCode) return shutDown(wasWritten);
  if (!wasWritten) return new ProxyError("upstream_unreachable", describeUnreachable(causedBy), { causedBy });
  // The second is the code of Node's own parser.
  if (error instanceof HeadTooLong || causedBy === "HPE_HEADER_OVERFLOW") {
    const what = `The head of the service's answer is longer than ${longHeadCause} allows (${causedBy}).`;
    return new ProxyError("upstream_bad_response", what, { causedBy: longHeadCause });
  }
  // Node's own parser reports malformed answers by these codes.
  if (error instanceof MalformedResponse || causedBy.startsWith("HPE_")) {
    return new ProxyError("upstream_bad_response", `The service's answer is not HTTP/1.1 (${causedBy}).`, { causedBy });
  }
  if (error instanceof ForeignResponse) {
    const what = `What came is not the answer to this request (${causedBy}).`;
    return new ProxyError("upstream_bad_response", what, { causedBy });
  }
  const what =
    causedBy === unframedOverTlsCode
      ? `The service's answer has no length, so that its end over TLS cannot be distinguished from a cut (${causedBy}).`
      : `The connection to the service broke before the answer was complete (${causedBy}).`;
  return new ProxyError("upstream_reset", what, { causedBy });
}

/** A code such as ECONNREFUSED or CERT_HAS_EXPIRED; `UNKNOWN` for anything that does not look like one. */
export function codeOf(error: unknown): string {
  return errorCodeOf(error) ?? "UNKNOWN";
}

/** The settings as they are called within an environment. */
const service: Peer = { place: "the service", setting: "baseUrl", tlsSetting: "tls", egressSetting: "egress" };

function describeUnreachable(code: string): string {
  const found = explainConnectFailure(code, service);
  return `No connection to the service${found === undefined ? ` (${code})` : `: ${found.detail}; ${found.fix}`}.`;
}
