import { type Clock, within } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { UpstreamResponse } from "./messages.ts";

/** As much of a body is held in memory. */
export const longestReadAheadBytes = 65_536;

/**
 * Reads a body to its end, or as far as it may be held. What it throws, it throws before a byte is passed on.
 * @returns the whole body; where it is longer, what was read and the rest as it comes
 */
export async function readAhead(body: UpstreamResponse["body"]): Promise<UpstreamResponse["body"]> {
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

/**
 * A response whose body is read ahead, in the background: so its connection is free while a second attempt is made, and
 * the response can still be passed on, byte for byte, when that attempt fails. The second attempt needs no more than the
 * status: a body that stalls or breaks does not stand in its way. A 401 is a few hundred bytes; one that is too long to be held
 * is passed on too, but keeps its connection until then.
 */
export interface BufferedResponse {
  /**
   * To be passed on as if nothing had happened. Where the body breaks while it is read ahead, this throws before its first
   * byte: no head has gone out yet, so the caller can still have a whole answer that says so.
   */
  readonly response: UpstreamResponse;
  /** Resolves when no more is read ahead. What has not come within this time is given up and frees its connection. */
  finishReading(withinMs: number): Promise<void>;
}

export function bufferResponse(response: UpstreamResponse, clock: Clock): BufferedResponse {
  const { body } = response;
  if (body instanceof Uint8Array) return { response, finishReading: async () => {} };
  let giveUp = (_: ProxyError) => {};
  const isLate = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  const reading = Promise.race([readAhead(body), isLate]).catch((error) => {
    throw explain(error, response.status);
  });
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

/** Its status was read, though nothing of it can be passed on. */
function explain(error: unknown, status: number): unknown {
  if (!(error instanceof ProxyError)) return error;
  const { code, message, outcome } = error;
  return new ProxyError(code, `The service answered ${status}. ${message}`, { outcome });
}
