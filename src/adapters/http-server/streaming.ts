import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import type { BodyStream, Passage } from "../../pass-through/messages.ts";
import { endConnection, resetConnection } from "./closing.ts";
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

/**
 * Passes bytes both ways, each side as fast as the other reads, until both connections are closed. The end of one side ends
 * the other; a connection that breaks resets the other; and both are ended where nothing passes for `idleMs`.
 */
export function tunnel(client: Socket, upstream: Duplex, idleMs: number, clock: Clock): Promise<Passage> {
  const counted = { toService: 0, toClient: 0 };
  let end: Passage["end"] = "closed";
  const idle = new DeadlineTimer(clock, () => {
    end = "idle";
    client.unpipe(upstream);
    upstream.unpipe(client);
    for (const side of [client, upstream]) endConnection(side, clock);
  });
  const touch = () => idle.set(clock.nowMs() + idleMs);
  touch();
  client.on("data", (bytes: Buffer) => {
    counted.toService += bytes.length;
    touch();
  });
  upstream.on("data", (bytes: Buffer) => {
    counted.toClient += bytes.length;
    touch();
  });
  upstream.on("error", () => {
    // A side that is being ended may reset what it has not read.
    if (end === "closed") end = "broken";
    upstream.destroy();
    if (end === "broken") void resetConnection(client, clock);
  });
  client.pipe(upstream);
  upstream.pipe(client);
  const bothClosed = [
    closeOf(client).then(() => upstream.destroy()),
    closeOf(upstream).then(() => end === "closed" && !client.destroyed && endConnection(client, clock)),
  ];
  return Promise.all(bothClosed).then(() => {
    idle.close();
    return { ...counted, end };
  });
}

function closeOf(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.once("close", resolve);
  });
}
