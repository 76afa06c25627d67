import type { BodyStream } from "../../pass-through/messages.ts";
import type { Connection } from "./connection.ts";
import { closedEarly, type RequestBody } from "./read-body.ts";

/** A body that is taken as it comes. Its connection is read on as it is taken. */
export class StreamedBody implements BodyStream {
  readonly declaredBytes: number | undefined;
  readonly awaitsContinue: boolean;
  readonly invite: () => void;
  takenBytes = 0;
  readonly #body: RequestBody;
  readonly #connection: Connection;

  /** @param invite sends 100 Continue, where that is still awaited */
  constructor(
    body: RequestBody,
    connection: Connection,
    isChunked: boolean,
    awaitsContinue: boolean,
    invite: () => void,
  ) {
    this.#body = body;
    this.#connection = connection;
    this.declaredBytes = isChunked ? undefined : body.declaredBytes;
    this.awaitsContinue = awaitsContinue;
    this.invite = invite;
  }

  get isRead(): boolean {
    return this.#body.isRead;
  }

  take(): Uint8Array | undefined {
    if (this.#connection.isGone) throw closedEarly();
    const piece = this.#body.take();
    this.#connection.resume();
    if (piece !== undefined) this.takenBytes += piece.length;
    return piece;
  }

  more(): Promise<void> {
    return this.#body.more();
  }
}
