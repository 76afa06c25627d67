import type { UpstreamResponse } from "../../proxy/messages.ts";

/** What is read by Countersign itself is a few hundred bytes: a token (RFC 6749 section 5.1), an application's status. */
export const longestAnswerBytes = 65_536;

/**
 * The body of a response.
 * @returns undefined where it is longer than 64 KiB; the rest is not received
 * @throws what the body throws
 */
export async function readWhole(response: UpstreamResponse): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const body = response.body instanceof Uint8Array ? [response.body] : response.body;
  for await (const piece of body) {
    length += piece.length;
    if (length > longestAnswerBytes) {
      response.discard();
      return undefined;
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
