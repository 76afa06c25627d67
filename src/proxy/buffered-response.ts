import { type Clock, sleep } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { UpstreamResponse } from "./messages.ts";

/** A 401 is a few hundred bytes; a longer one is passed on too, but keeps its connection until then. */
const longestBufferedBytes = 65_536;

/**
 * A response whose body is read ahead, in the background: so its connection is free while a second attempt is made, and
 * the response can still be passed on, byte for byte, when that attempt fails. The second attempt needs no more than the
 * status: a body that stalls or breaks does not stand in its way.
 */
export interface BufferedResponse {
  /**
   * To be passed on as if nothing had happened. Where the body breaks while it is read ahead, this throws before its first
   * byte: no head has gone out yet, so the caller can still have a whole response that says so.
   */
  readonly response: UpstreamResponse;
  /** Resolves when no more is read ahead. What has not come within this time is given up and frees its connection. */
  finishReading(withinMs: number): Promise<void>;
  /** Nothing of it will be passed on. */
  discard(): void;
}

export function bufferResponse(response: UpstreamResponse, clock: Clock): BufferedResponse {
  const { body } = response;
  if (body instanceof Uint8Array) return { response, finishReading: async () => {}, discard: () => response.discard() };
  const source = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let state: "reading" | "complete" | "too_long" | "broken" = "reading";
  let failure: unknown;
  const fail = (error: unknown) => {
    if (state !== "reading") return;
    state = "broken";
    failure = explain(error, response.status);
  };
  const readAhead = async () => {
    for (let length = 0; state === "reading"; ) {
      const step = await source.next();
      if (state !== "reading") return;
      if (step.done === true) state = "complete";
      else {
        chunks.push(step.value);
        length += step.value.length;
        if (length >= longestBufferedBytes) state = "too_long";
      }
    }
  };
  const reading = readAhead().catch(fail);
  async function* replay() {
    await reading;
    if (state === "broken") throw failure;
    yield* chunks;
    if (state === "too_long") yield* { [Symbol.asyncIterator]: () => source };
  }
  return {
    response: { ...response, body: replay() },
    async finishReading(withinMs) {
      const ending = new AbortController();
      await Promise.race([reading, sleep(clock, withinMs, ending.signal)]);
      ending.abort();
      if (state !== "reading") return;
      fail(new ProxyError("upstream_timeout", "The rest of that answer did not come in time."));
      response.discard();
    },
    discard: () => response.discard(),
  };
}

/** Its status was read, though nothing of it can be passed on. */
function explain(error: unknown, status: number): unknown {
  if (!(error instanceof ProxyError)) return error;
  const { code, message, outcome } = error;
  return new ProxyError(code, `The service answered ${status}. ${message}`, { outcome });
}
