import type { ChunkFault } from "../../http/chunk-decoder.ts";
import { ProxyError } from "../../model/errors.ts";

/** What is wrong with bytes that are no HTTP/1.1, by the codes of llhttp: logs have them, and so do other programs. */
export type SyntaxFault =
  | "HPE_INVALID_METHOD"
  | "HPE_INVALID_URL"
  | "HPE_INVALID_VERSION"
  | "HPE_INVALID_HEADER_TOKEN"
  | "HPE_CR_EXPECTED"
  | "HPE_INVALID_CONTENT_LENGTH"
  | "HPE_INVALID_TRANSFER_ENCODING"
  | "HPE_INVALID_CHUNK_SIZE"
  | "HPE_CHUNK_EXTENSIONS_OVERFLOW"
  | "HPE_INVALID_EOF_STATE";

export function malformed(causedBy: SyntaxFault): ProxyError {
  return new ProxyError("malformed_request", `The request is not well-formed HTTP/1.1 (${causedBy}).`, { causedBy });
}

/** Wrong bytes around the data of a chunk have the code of a wrong size. */
export function malformedChunks(fault: ChunkFault): ProxyError {
  switch (fault) {
    case "malformed":
    case "size too long":
      return malformed("HPE_INVALID_CHUNK_SIZE");
    case "line feed alone":
      return malformed("HPE_CR_EXPECTED");
    case "extensions too long":
      return malformed("HPE_CHUNK_EXTENSIONS_OVERFLOW");
    case "malformed trailer":
      return malformed("HPE_INVALID_HEADER_TOKEN");
    case "trailers too long":
      return headTooLarge();
  }
}

export function headTooLarge(): ProxyError {
  const causedBy = "HPE_HEADER_OVERFLOW";
  return new ProxyError("headers_too_large", "The header section is longer than 16 KiB.", { causedBy });
}
