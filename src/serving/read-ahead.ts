import { type Clock, within } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { UpstreamResponse } from "./messages.ts";

/** Reading ahead stops when more of a body than this is in memory. */
export const longestReadAheadBytes = 65_536;

/**
 * Reads a body to its end, or until too much of it is in memory. Errors until then are thrown before a byte is passed on.
 * @param reserve takes memory for so many bytes more; if it returns false, there is none
 * @returns the whole body; for a body that is too long a stream of the part that was read, then of the rest
 */
export async function readAhead(
  body: UpstreamResponse["body"],
  reserve: (bytes: number) => boolean = () => true,
): Promise<UpstreamResponse["body"]> {
  if (body instanceof Uint8Array) return body;
  const source = body[Symbol.asyncIterator]();
  // One block, since pieces of a few bytes each would take a hundred times as much memory.
  let block: Uint8Array = new Uint8Array();
  let length = 0;
  for (;;) {
    const { done, value } = await source.next();
    if (done === true) return block.subarray(0, length);
    const neededBytes = length + value.length;
    if (neededBytes > block.length) {
      const blockBytes = length === 0 ? neededBytes : Math.min(2 * neededBytes, longestReadAheadBytes);
      if (neededBytes > longestReadAheadBytes || !reserve(blockBytes)) {
        return passOn(length === 0 ? [value] : [block.subarray(0, length), value], source);
      }
      const larger = length === 0 ? value : Buffer.allocUnsafe(blockBytes);
      larger.set(block.subarray(0, length));
      block = larger;
    }
    if (length > 0) block.set(value, length);
    length = neededBytes;
  }
}

async function* passOn(pieces: readonly Uint8Array[], source: AsyncIterator<Uint8Array>) {
  try {
    yield* pieces;
    yield* { [Symbol.asyncIterator]: () => source };
  } finally {
    await source.return?.();
  }
}

/**
 * A response whose body is read ahead, in the background: so its connection is free while a second attempt is made, and
 * the response can still be passed on, byte for byte, if that attempt fails. The second attempt needs only the status: a
 * body that stalls or breaks does not prevent it. A 401 has a few hundred bytes; one that is too long to be read ahead is
 * passed on too, but keeps its connection until then.
 */
export interface BufferedResponse<Response extends UpstreamResponse> {
  /**
   * Can be passed on like any response. If the body broke while it was read ahead, its stream throws before the first byte:
   * no head was sent to the caller yet, so the caller can still get a complete answer about the failure.
   */
  readonly response: Response;
  /** Resolves when reading ahead has ended. After this time an incomplete body is given up, and its connection closed. */
  finishReading(withinMs: number): Promise<void>;
}

export function bufferResponse<Response extends UpstreamResponse>(
  response: Response,
  clock: Clock,
): BufferedResponse<Response> {
  const { body } = response;
  if (body instanceof Uint8Array) return { response, finishReading: async () => {} };
  let giveUp = (_: ProxyError) => {};
  const isLate = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  const reading = Promise.race([readAhead(body), isLate]);
  const isOver = reading.then(
    () => true,
    () => true,
  );
  async function* replay() {
    const read = await reading;
    if (!(read instanceof Uint8Array)) yield* read;
    else if (read.length > 0) yield read;
  }
  return {
    response: { ...response, body: replay() },
    async finishReading(withinMs) {
      if (await within(clock, isOver, withinMs)) return;
      giveUp(new ProxyError("upstream_timeout", "The rest of that answer did not come in time."));
      response.discard();
    },
  };
}
