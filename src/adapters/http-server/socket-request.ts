import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HeaderLines } from "../../http/headers.ts";
import { type Clock, DeadlineTimer, within } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { BodyStream, StreamingRequest, TunnelResult } from "../../pass-through/messages.ts";
import type { Answer, BodyBuffer, Peer } from "../../serving/messages.ts";
import { type Framing, formatHead, formatSwitch, framingOf, writeJoined } from "./answer.ts";
import { endConnection, resetConnection } from "./closing.ts";
import type { Connection } from "./connection.ts";
import { closedEarly, type QueuedRequest, RequestBody, tooLarge } from "./read-body.ts";
import type { RequestHead } from "./request-reader.ts";

export interface RequestSettings {
  readonly bodyBytes: number;
  readonly clock: Clock;
  /** Whether connections end with their next response. */
  readonly isDraining: () => boolean;
}

export interface Service {
  readonly settings: RequestSettings;
  /** The present value of the Date header. */
  readonly date: () => string;
  /** No request behind it may be served. */
  readonly isLast: boolean;
  /** Answers the request, when its turn has come. */
  readonly serve: (request: SocketRequest) => Promise<void>;
}

/** A body must arrive within this time. */
const bodyTimeoutMs = 15_000;
/** After this time the head of a streamed response is sent without the first piece of its body. */
const headDelayMs = 20;
const continueHead = "HTTP/1.1 100 Continue\r\n\r\n";

/** A request on a connection, as the proxy sees it. */
export class SocketRequest implements StreamingRequest, QueuedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  readonly headBytes: number;
  readonly peer: Peer;
  readonly body: RequestBody;
  readonly isLast: boolean;
  readonly callerCloses: boolean;
  readonly #connection: Connection;
  readonly #head: RequestHead;
  readonly #service: Service;
  /** The request expects 100 Continue, which was not sent yet: its body may follow or not (RFC 9110 section 10.1.1). */
  #awaitsContinue: boolean;
  #framing: Framing = "length";
  #answeredStatus: number | undefined;
  #isDelivered = false;

  constructor(connection: Connection, head: RequestHead, service: Service) {
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.headBytes = head.heldBytes;
    this.peer = connection.peer;
    this.body = new RequestBody(head, service.settings.bodyBytes);
    this.isLast = service.isLast;
    this.callerCloses = head.closes;
    this.#connection = connection;
    this.#head = head;
    this.#service = service;
    this.#awaitsContinue = head.expects;
  }

  serve(): Promise<void> {
    return this.#service.serve(this);
  }

  readBody(deadlineMs: number, buffer: BodyBuffer): Uint8Array | Promise<Uint8Array> {
    const { body } = this;
    // This comes before 100 Continue asks for the body.
    if (body.declaredBytes > body.limitBytes) throw tooLarge(body.limitBytes);
    buffer.reserve(body.declaredBytes);
    // The caller of a request that waited for its turn may have closed.
    if (this.#connection.isGone) throw closedEarly();
    if (this.#awaitsContinue) this.#writeContinue();
    const bytes = body.collect(buffer);
    if (bytes instanceof Promise) this.#awaitBody(deadlineMs);
    return bytes;
  }

  streamBody(): BodyStream | undefined {
    const { isChunked, bodyBytes } = this.#head;
    if (!isChunked && bodyBytes === 0) return undefined;
    const { body } = this;
    return {
      declaredBytes: isChunked ? undefined : bodyBytes,
      awaitsContinue: this.#awaitsContinue && !body.isComplete,
      get takenBytes() {
        return body.takenBytes;
      },
      get isRead() {
        return body.isRead;
      },
      writeContinue: () => {
        if (this.#awaitsContinue) this.#writeContinue();
      },
      take: () => {
        if (this.#connection.isGone) throw closedEarly();
        const piece = body.take();
        // Reading the connection continues as the body is taken.
        this.#connection.resume();
        return piece;
      },
      more: () => body.more(),
    };
  }

  onGone(listener: () => void): void {
    this.#connection.onGone = listener;
    if (this.#connection.isGone) listener();
  }

  async switchProtocol(headers: HeaderLines, upstream: Duplex, idleMs: number): Promise<TunnelResult> {
    const head = formatSwitch(headers);
    const socket = this.#connection.detachSocket();
    this.#answeredStatus = 101;
    this.#isDelivered = true;
    socket.write(head, "latin1");
    return tunnel(socket, upstream, idleMs, this.#service.settings.clock);
  }

  isClosed(): boolean {
    return this.#connection.isGone && !this.#isDelivered;
  }

  answeredStatus(): number | undefined {
    return this.#answeredStatus;
  }

  answer(answer: Answer, deadlineMs: number): Promise<void> | undefined {
    const { body } = answer;
    if (!(body instanceof Uint8Array)) return this.#stream(answer, body, deadlineMs);
    const connection = this.#connection;
    if (connection.isGone) return undefined;
    const head = this.#begin(answer);
    if (this.#framing === "no body" || body.length === 0) connection.socket.write(head + this.#end, "latin1");
    else writeJoined(connection.socket, head + this.#beforePiece(body), body, this.#afterPiece + this.#end);
    // The delivery of our own answers is not waited for.
    this.#isDelivered = answer.isLocal || connection.isFlushed;
    return this.#isDelivered ? undefined : this.#finish(answer, deadlineMs);
  }

  /** Asks for the body by 100 Continue, unless it came while the request waited for its turn. */
  #writeContinue(): void {
    if (this.#connection.hasQueued && this.body.isComplete) return;
    this.#connection.socket.write(continueHead, "latin1");
    this.#awaitsContinue = false;
  }

  #awaitBody(deadlineMs: number): void {
    const timeoutMs = Math.min(bodyTimeoutMs, deadlineMs - this.#service.settings.clock.nowMs());
    this.#connection.awaitCaller(timeoutMs, () => {
      const what =
        `The body was not complete after ${Math.round(timeoutMs / 100) / 10} s. See whether Content-Length is the ` +
        "body's length, or the last chunk is missing.";
      this.body.fail(new ProxyError("request_timeout", what, { causedBy: "body" }));
    });
    this.#connection.resume();
  }

  /**
   * Streams the service's response to the caller, as fast as the caller reads but not beyond the deadline. If the caller
   * has closed, the response is still read to its end, so that it is known how the request ended. A response with `idleMs` is
   * not, since it may have no end.
   *
   * The head is sent with the first piece of the body. So a response that breaks right after its head can still become a
   * problem, instead of a bare close, after which libraries repeat a POST.
   */
  async #stream(answer: Answer, body: AsyncIterable<Uint8Array>, deadlineMs: number): Promise<void> {
    const connection = this.#connection;
    const { idleMs } = answer;
    const pieces = body[Symbol.asyncIterator]();
    try {
      const first = pieces.next();
      let head: string | undefined = idleMs === undefined ? undefined : await this.#beginSoon(answer, first);
      let step = await first;
      head ??= connection.isGone ? "" : this.#begin(answer);
      for (; step.done !== true; step = await pieces.next()) {
        if (connection.isGone && idleMs !== undefined) break;
        const piece = step.value;
        if (connection.isGone || piece.length === 0 || this.#framing === "no body") continue;
        const isTaken = writeJoined(connection.socket, head + this.#beforePiece(piece), piece, this.#afterPiece);
        head = "";
        if (isTaken || connection.isFlushed) continue;
        await this.#taken(answer, deadlineMs);
      }
      if (connection.isGone) return;
      if (head + this.#end !== "") connection.socket.write(head + this.#end, "latin1");
      if (!connection.isFlushed) await this.#taken(answer, deadlineMs);
      this.#isDelivered = !connection.isGone;
    } catch (error) {
      if (connection.isGone && idleMs !== undefined && this.#answeredStatus !== undefined) return;
      if (this.#answeredStatus !== undefined) await connection.reset();
      throw error;
    } finally {
      await pieces.return?.();
    }
  }

  /**
   * A response that streams may begin long before its first piece, and its caller waits for the head.
   * @returns "" if the head was written; undefined if it will be sent with the first piece or the end, which came soon
   */
  async #beginSoon(answer: Answer, first: Promise<unknown>): Promise<"" | undefined> {
    const connection = this.#connection;
    const isThere = await within(
      this.#service.settings.clock,
      first.then(() => true),
      headDelayMs,
    );
    if (isThere === true || connection.isGone) return undefined;
    connection.socket.write(this.#begin(answer), "latin1");
    return "";
  }

  /** Waits until the caller has taken all bytes that were written. */
  #taken({ idleMs, signal, onSlowReader }: Answer, deadlineMs: number): Promise<void> {
    const { clock } = this.#service.settings;
    const taken = this.#connection.flushed(idleMs === undefined ? deadlineMs : clock.nowMs() + idleMs);
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(signal?.reason);
      signal?.addEventListener("abort", giveUp);
      if (signal?.aborted) giveUp();
      const onTaken = onSlowReader?.(reject);
      taken.then(resolve, reject).finally(() => {
        onTaken?.();
        signal?.removeEventListener("abort", giveUp);
      });
    });
  }

  /** Waits until the caller has taken the response. */
  async #finish(answer: Answer, deadlineMs: number): Promise<void> {
    try {
      await (answer.idleMs === undefined ? this.#connection.flushed(deadlineMs) : this.#taken(answer, deadlineMs));
      this.#isDelivered = !this.#connection.isGone;
    } catch (error) {
      await this.#connection.reset();
      throw error;
    }
  }

  /** The size line of a chunk; empty without chunks (RFC 9112 section 7.1). */
  #beforePiece({ length }: Uint8Array): string {
    return this.#framing === "chunks" ? `${length.toString(16)}\r\n` : "";
  }

  get #afterPiece(): string {
    return this.#framing === "chunks" ? "\r\n" : "";
  }

  get #end(): string {
    return this.#framing === "chunks" ? "0\r\n\r\n" : "";
  }

  /**
   * Decides how the response is framed and whether the connection stays open.
   * @returns the head of the response
   * @throws ProxyError upstream_bad_response
   */
  #begin(answer: Answer): string {
    const connection = this.#connection;
    const { isDraining } = this.#service.settings;
    // A response that only a close ended may be incomplete, so only a close ends it here too; without a reset, chunks show a cut.
    const hasChunks = this.#head.version === "1.1" && (answer.isFramed || !connection.canBeReset);
    const isHead = this.method === "HEAD" || (this.method === "" && connection.refusesHead);
    const framing = framingOf(answer, isHead, hasChunks);
    const isUnread = !this.body.isRead || this.#awaitsContinue;
    const closes = isUnread || !answer.isFramed || framing === "close" || connection.closes(isDraining());
    // The service's response keeps its own Date or none; ours gets one.
    const idleness = closes ? undefined : connection.idleness;
    const head = formatHead(answer, framing, idleness, answer.isLocal ? this.#service.date() : undefined);
    if (closes) connection.closeAfterThis();
    else connection.stayOpenAfterThis();
    connection.closeEndsResponse = framing === "close";
    this.#framing = framing;
    this.#answeredStatus = answer.status;
    return head;
  }
}

/**
 * Passes bytes both ways, each side as fast as the other reads, until both connections are closed. The end of one side ends
 * the other; a connection that breaks resets the other; and both are ended if nothing passes for `idleMs`.
 */
function tunnel(caller: Socket, upstream: Duplex, idleMs: number, clock: Clock): Promise<TunnelResult> {
  const counted = { toService: 0, toCaller: 0 };
  let end: TunnelResult["end"] = "closed";
  const idle = new DeadlineTimer(clock, () => {
    end = "idle";
    caller.unpipe(upstream);
    upstream.unpipe(caller);
    for (const side of [caller, upstream]) endConnection(side, clock);
  });
  const touch = () => idle.set(clock.nowMs() + idleMs);
  touch();
  const count = (side: Duplex, direction: keyof typeof counted) =>
    side.on("data", (bytes: Buffer) => {
      counted[direction] += bytes.length;
      touch();
    });
  count(caller, "toService");
  count(upstream, "toCaller");
  upstream.on("error", () => {
    // A side that is being ended may send a reset for unread bytes.
    if (end === "closed") end = "broken";
    upstream.destroy();
    if (end === "broken") void resetConnection(caller, clock);
  });
  caller.pipe(upstream);
  upstream.pipe(caller);
  const bothClosed = [
    closeOf(caller).then(() => upstream.destroy()),
    closeOf(upstream).then(() => end === "closed" && !caller.destroyed && endConnection(caller, clock)),
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
