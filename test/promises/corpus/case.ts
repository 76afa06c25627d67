import { chunked, orderText, rawPost } from "../../../testkit/raw-caller.ts";

/** The caller closes its side: no more bytes will come. */
export const hangsUp = Symbol("hangs up");
/** The caller sends nothing more, and stays. */
export const fallsSilent = Symbol("falls silent");

/** The caller goes on only when it has as many answers as it has said this. */
export const readsAnswer = Symbol("reads an answer");

/** Bytes (latin1), written on their own, or what the caller does besides writing. */
export type Step = string | typeof hangsUp | typeof fallsSilent | typeof readsAnswer;

/** What a caller does on one connection, and the statuses of all answers to it; a 200 is the service's. */
export type Case = readonly [name: string, steps: string | readonly Step[], statuses: readonly number[]];

/**
 * What a confused parser would take for a request of its own. It is sound and its operation is allowed, and no honest
 * request of the corpus calls that operation: whatever arrives there was smuggled.
 */
export const hidden = rawPost({ target: "/get_order", body: '{"smuggled":"1"}' });

/** A sound order on a connection that ends with its answer: the last of a pipeline. */
export const last = rawPost();

export const lengthOfOrder = Buffer.byteLength(orderText);
export const chunks = chunked(orderText);

/** A POST that keeps its connection open, with these framing lines and this body. */
export function framed(framing: readonly string[], body: string, more: readonly string[] = []): string {
  return rawPost({ connection: [], framing, body, more });
}

/** An order of this Content-Length, whatever that is. */
export function ofLength(value: string): string {
  return framed([`Content-Length: ${value}`], orderText);
}

/** A body in chunks, given with all its punctuation. */
export function inChunks(body: string): string {
  return framed(["Transfer-Encoding: chunked"], body);
}

/** Every byte of a case, and what else its caller does: no two cases have the same. */
export function bytesOf([, steps]: Case): string {
  return typeof steps === "string" ? steps : steps.map(String).join("");
}
