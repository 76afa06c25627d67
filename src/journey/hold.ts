import type { Answer } from "./messages.ts";

/** A 401 is a few hundred bytes; a longer one is passed on too, but keeps its connection until then. */
const heldBytes = 65_536;

/** An answer that was read ahead. */
export interface Held {
  /** To be passed on as if nothing had happened. */
  readonly answer: Answer;
  /** It is not needed: what is left of it is not read. */
  discard(): void;
}

/**
 * Reads an answer's body ahead, so that its connection is free while a second attempt is made and the answer can
 * still be passed on, byte for byte, when that attempt comes to nothing. Where the body breaks, the passed-on one
 * breaks too.
 */
export async function hold(answer: Answer): Promise<Held> {
  const source = answer.body[Symbol.asyncIterator]();
  const read: Uint8Array[] = [];
  let length = 0;
  let failure: { error: unknown } | undefined;
  let done = false;
  while (!done && failure === undefined && length < heldBytes) {
    try {
      const step = await source.next();
      if (step.done === true) done = true;
      else {
        read.push(step.value);
        length += step.value.length;
      }
    } catch (error) {
      failure = { error };
    }
  }
  async function* replay() {
    yield* read;
    if (failure !== undefined) throw failure.error;
    if (!done) yield* { [Symbol.asyncIterator]: () => source };
  }
  return {
    answer: { ...answer, body: replay() },
    discard() {
      if (!done && failure === undefined) void source.return?.();
    },
  };
}
