import type { IncomingMessage, ServerResponse } from "node:http";
import type { HeaderLines } from "../../http/headers.ts";
import { type Clock, sleep } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { BodyBuffer, ClientRequest, ClientResponse, Peer } from "../../proxy/messages.ts";
import { type Connection, type QueuedRequest, wholeTurn } from "./connection.ts";
import { closedEarly, readBody, tooLarge } from "./read-body.ts";
import { canBeReset, peerOf, resetConnection, wasReset } from "./socket.ts";

export interface ClientRequestSettings {
  readonly bodyBytes: number;
  readonly clock: Clock;
  /** Whether connections end with their next response. */
  readonly isDraining: () => boolean;
}

/** A request as Node gives it. */
export interface NodeRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** It expects 100 Continue. */
  readonly wantsContinue: boolean;
}

/** A body must arrive within this time (row 7). */
const bodyTimeoutMs = 15_000;
/**
 * How long, and how much of, an unread request body is still read so that its sender gets to read our response. Bodies
 * within `limits.bodyBytes` are read in whole. Such a connection counts towards `limits.connections`.
 */
const lingerMs = 5_000;
const lingerBytes = 1_048_576;
/** After the first such time our direction is closed; after another one in which nothing came, the connection. */
const quietMs = 1_000;

/** A request of node:http as the proxy sees it. */
export class NodeClientRequest implements ClientRequest, QueuedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderLines;
  readonly peer: Peer;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #settings: ClientRequestSettings;
  readonly #connection: Connection;
  readonly #serve: () => Promise<void>;
  /** It expects 100 Continue and has not had it: its body may never come, and Node closes after its response. */
  #awaitsContinue: boolean;
  /** Why nothing more of it will be read. */
  #failure: ProxyError | undefined;
  #failReading: (error: unknown) => void = () => {};
  #isAnswered = false;

  /** @param serve answers it, when its turn has come */
  constructor(
    { request, response, wantsContinue }: NodeRequest,
    settings: ClientRequestSettings,
    connection: Connection,
    serve: () => Promise<void>,
  ) {
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.headers = request.rawHeaders;
    this.peer = peerOf(request.socket);
    this.#request = request;
    this.#response = response;
    this.#settings = settings;
    this.#awaitsContinue = wantsContinue;
    this.#connection = connection;
    this.#serve = serve;
  }

  async readBody(deadlineMs: number, buffer: BodyBuffer): Promise<Uint8Array> {
    const { bodyBytes, clock } = this.#settings;
    const declaredBytes = Number(this.#request.headers["content-length"] ?? 0);
    // Before a byte is read, or asked for with 100 Continue.
    if (declaredBytes > bodyBytes) throw tooLarge(bodyBytes);
    buffer.reserve(declaredBytes);
    // The client of a request that waited for its turn may have closed, and what it sent is gone with it.
    if (this.#request.destroyed) throw closedEarly();
    if (this.#awaitsContinue && !this.#request.complete) {
      this.#awaitsContinue = false;
      this.#response.writeContinue();
    }
    const timeoutMs = Math.min(bodyTimeoutMs, deadlineMs - clock.nowMs());
    const onReading = (fail: (error: unknown) => void) => {
      this.#failReading = fail;
    };
    const reading = readBody(this.#request, { bodyBytes, timeoutMs }, buffer, onReading, clock);
    if (this.#failure !== undefined) this.#failReading(this.#failure);
    return reading;
  }

  isClosed(): boolean {
    const { socket } = this.#request;
    return socket.destroyed && !wasReset(socket) && !this.#response.writableFinished && !this.#isAnswered;
  }

  repliedStatus(): number | undefined {
    return this.#response.headersSent ? this.#response.statusCode : undefined;
  }

  reply(response: ClientResponse, deadlineMs: number): Promise<void> {
    return response.isLocal ? this.#replyLocally(response) : this.#stream(response, deadlineMs);
  }

  get awaitsContinue(): boolean {
    return this.#awaitsContinue;
  }

  async serve(): Promise<void> {
    await this.#serve();
    const response = this.#response;
    if (response.closed || this.#isGone) return;
    await new Promise((resolve) => response.once("close", resolve));
  }

  breakOff(failure: ProxyError): void {
    if (this.#request.complete) return;
    this.#failure = failure;
    this.#failReading(failure);
  }

  drained(): void {
    this.#response.emit("drain");
  }

  get #isGone(): boolean {
    return this.#request.socket.destroyed;
  }

  /**
   * Streams the service's response to the client, as fast as the client reads but not beyond the deadline. Where the client
   * has closed, the response is still read to its end: how the request ended is worth knowing.
   *
   * The head goes out with the first piece of the body. Node would keep a lone head back, so a response that breaks right
   * after its head would become a bare close, and libraries repeat a POST after that (row 12a); so it still becomes a
   * problem.
   */
  async #stream(reply: ClientResponse, deadlineMs: number): Promise<void> {
    const response = this.#response;
    const { body } = reply;
    const pieces = (body instanceof Uint8Array ? onePiece(body) : body)[Symbol.asyncIterator]();
    try {
      let step = await pieces.next();
      if (!this.#isGone) this.#writeHead(reply, reply.isFramed);
      for (; step.done !== true; step = await pieces.next()) {
        if (this.#isGone || response.write(step.value)) continue;
        reply.onSlowReader?.();
        await this.#taken("drain", deadlineMs);
      }
      if (this.#isGone) return;
      response.end();
      if (!response.writableFinished) await this.#taken("finish", deadlineMs);
    } catch (error) {
      if (response.headersSent) {
        this.#connection.closeAfterThis();
        await resetConnection(this.#request.socket, this.#settings.clock);
      }
      throw error;
    } finally {
      await pieces.return?.();
    }
  }

  /** Until the client has taken what was written, or has closed. */
  #taken(event: "drain" | "finish", deadlineMs: number): Promise<void> {
    if (this.#isGone) return Promise.resolve();
    const { socket } = this.#request;
    const { clock } = this.#settings;
    return new Promise((resolve, reject) => {
      const stop = () => {
        cancel();
        this.#response.off(event, done);
        socket.off("close", done);
      };
      const done = () => {
        stop();
        resolve();
      };
      const cancel = clock.after(deadlineMs - clock.nowMs(), () => {
        stop();
        const what = "The caller did not take the whole answer in time.";
        reject(new ProxyError("upstream_timeout", what, { causedBy: "slow caller" }));
      });
      this.#response.once(event, done);
      socket.once("close", done);
    });
  }

  /** Writes a response of our own. Resolves when it was handed over or the client has closed. */
  async #replyLocally(reply: ClientResponse): Promise<void> {
    if (this.#isGone) return;
    this.#writeHead(reply, true);
    // It is out now; what it still waits for is the rest of the request.
    this.#isAnswered = true;
    if (this.#request.complete) {
      this.#response.end(reply.body);
      return;
    }
    this.#response.write(reply.body);
    await this.#linger();
    const { socket } = this.#request;
    if (socket.writableEnded) socket.destroy();
    else this.#response.end();
  }

  /**
   * Reads what the client is still sending, within bounds. Closing a socket with unread data resets it, and the reset
   * can overtake the response. So our direction is closed first (RFC 9112 section 9.6).
   */
  async #linger(): Promise<void> {
    const request = this.#request;
    const { clock, bodyBytes } = this.#settings;
    if (request.destroyed) return;
    const untilMs = clock.nowMs() + lingerMs;
    const mostBytes = Math.max(lingerBytes, bodyBytes);
    const over = new AbortController();
    const stop = () => over.abort();
    let length = 0;
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= mostBytes) return;
      request.pause();
      stop();
    };
    request.on("data", take).on("end", stop).on("close", stop).resume();
    for (let before = -1; length > before && !over.signal.aborted && clock.nowMs() < untilMs; ) {
      if (request.socket.writableEnded) before = length;
      await sleep(clock, quietMs, over.signal);
      if (over.signal.aborted) break;
      // A busy loop comes to its timers before it has read what has long been there.
      await wholeTurn();
      if (!over.signal.aborted) request.socket.end();
    }
    request.off("data", take).off("end", stop).off("close", stop);
  }

  /** @throws ProxyError upstream_bad_response when Node will not write such a head */
  #writeHead({ status, headers, isLocal }: ClientResponse, isFramed: boolean): void {
    const response = this.#response;
    const closes = this.#decideToClose(!isFramed);
    const lines = closes ? [...headers, "Connection", "close"] : [...headers];
    // What only a close ended may be a part, so only a close ends it here. Where a reset would look the same, chunks must tell.
    if (closes && !isFramed && canBeReset(this.#request.socket)) response.useChunkedEncodingByDefault = false;
    // The service's response keeps its own Date or none; ours gets one.
    response.sendDate = isLocal;
    try {
      response.writeHead(status, lines);
    } catch {
      throw new ProxyError("upstream_bad_response", "The head of the service's answer cannot be passed on.", {
        causedBy: "head",
      });
    }
  }

  /**
   * Whether this response ends the connection. In a drain it is the newest request's, so that none goes unanswered.
   * @param mustClose whether nothing but the close ends this response
   */
  #decideToClose(mustClose: boolean): boolean {
    const connection = this.#connection;
    const { complete, readableEnded, readableLength } = this.#request;
    const hasUnreadBody = !readableEnded && !(complete && readableLength === 0);
    const mayClose = connection.isClosing || this.#settings.isDraining();
    const isLast = mustClose || hasUnreadBody || this.#awaitsContinue || (mayClose && connection.isNewest(this));
    if (isLast) connection.closeAfterThis();
    return isLast;
  }
}

async function* onePiece(body: Uint8Array): AsyncGenerator<Uint8Array, void> {
  if (body.length > 0) yield body;
}
