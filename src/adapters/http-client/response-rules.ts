import { MalformedResponse } from "./transport-error.ts";

// What is asked of every server: of the service by response-reader.ts, of others by response-heads.ts and undici.

/** One final or interim head, its status line and line ends included. */
export const longestHeadBytes = 16_384;
/** All interim responses and empty lines before one final response; a hundred interim responses are a few KiB. */
export const longestInterimBytes = 65_536;

/**
 * How long an idle connection is kept where the server says nothing: most servers close theirs after 5 s and more. So a
 * request rarely meets a connection that is about to vanish.
 */
export const keepAliveMs = 4_000;
export const longestKeepAliveMs = 60_000;
/** A server's own Keep-Alive hint is shortened by this much. */
export const keepAliveMarginMs = 1_000;

/** A status line as far as its code and the character behind that. */
export const statusLineStartBytes = 13;
const statusLineStart = /^HTTP\/1\.[01] [1-9][0-9]{2}[ \r]$/;
const example = "HTTP/1.1 200 ";

/**
 * Checks the beginning of a status line, which may be incomplete: it is completed by an example's end, so that what cannot
 * become a status line is refused at its first wrong byte.
 * @throws MalformedResponse
 */
export function checkStatusLine(start: string): void {
  if (!statusLineStart.test(start + example.slice(start.length))) throw new MalformedResponse("NOT_HTTP_1_1");
}
