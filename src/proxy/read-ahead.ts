import type { Answer } from "./messages.ts";

/** As much of a body is held in memory. */
export const longestReadAheadBytes = 65_536;

/**
 * Reads a body to its end, or as far as it may be held. What it throws, it throws before a byte is passed on.
 * @returns the whole body; where it is longer, what was read and the rest as it comes
 */
export async function readAhead(body: Answer["body"]): Promise<Answer["body"]> {
  if (body instanceof Uint8Array) return body;
  const source = body[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  for (let length = 0; length <= longestReadAheadBytes; ) {
    const { done, value } = await source.next();
    if (done === true) return Buffer.concat(pieces);
    pieces.push(value);
    length += value.length;
  }
  return passOn(pieces, source);
}

async function* passOn(pieces: readonly Uint8Array[], source: AsyncIterator<Uint8Array>) {
  try {
    yield* pieces;
    yield* { [Symbol.asyncIterator]: () => source };
  } finally {
    await source.return?.();
  }
}
