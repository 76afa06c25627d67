import { ProxyError } from "../../model/errors.ts";

/**
 * What Node's parser or its timers made of a connection, as a failure; undefined when there is nobody left to answer.
 */
export function explainClientError({ code = "" }: NodeJS.ErrnoException): ProxyError | undefined {
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
    case "ECONNABORTED":
      return undefined;
    case "HPE_HEADER_OVERFLOW":
      return new ProxyError("headers_too_large", "The header section is longer than 16 KiB.", { causedBy: code });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ProxyError("request_timeout", "The request's head was not complete after 10 s.", { causedBy: "head" });
    default:
      return new ProxyError("malformed_request", `The request is not well-formed HTTP/1.1${hint(code)}.`, {
        causedBy: isParserCode(code) ? code : undefined,
      });
  }
}

function hint(code: string): string {
  return isParserCode(code) ? ` (${code})` : "";
}

/** llhttp's codes are constants, not foreign text. */
function isParserCode(code: string): boolean {
  return /^HPE_[A-Z_]+$/.test(code);
}
