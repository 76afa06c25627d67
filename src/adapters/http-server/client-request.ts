import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../model/clock.ts";
import type { ProxyError } from "../../model/errors.ts";
import type { BodyMemory, ClientRequest, ClientResponse, HeaderLine, LocalReply, Peer } from "../../proxy/messages.ts";
import type { Connection, QueuedRequest } from "./connection.ts";
import { cutOff, wasCutOff } from "./cut-off.ts";
import type { Exchange } from "./exchange.ts";
import { peerOf } from "./peer.ts";
import { checkDeclaredLength, closedEarly, declaredLength, readBody } from "./read-body.ts";
import { streamAnswer } from "./stream-answer.ts";
import { writeOwnReply } from "./write-own-reply.ts";

export interface ClientRequestSettings {
  readonly bodyBytes: number;
  readonly clock: Clock;
  /** Whether connections end with their next answer. */
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

/** A request of node:http as the journey sees it. */
export class NodeClientRequest implements ClientRequest, QueuedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly peer: Peer;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #settings: ClientRequestSettings;
  readonly #connection: Connection;
  readonly #serve: () => Promise<void>;
  readonly #broken: Promise<never>;
  /** It expects 100 Continue and has not had it: its body may never come, and Node closes after its answer. */
  #awaitsContinue: boolean;
  #breakOff: (error: Error) => void = () => {};
  #isAnswered = false;

  /** @param serve gives it its answer when its turn has come */
  constructor(
    { request, response, wantsContinue }: NodeRequest,
    settings: ClientRequestSettings,
    connection: Connection,
    serve: () => Promise<void>,
  ) {
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.headers = pairUp(request.rawHeaders);
    this.peer = peerOf(request.socket);
    this.#request = request;
    this.#response = response;
    this.#settings = settings;
    this.#awaitsContinue = wantsContinue;
    this.#connection = connection;
    this.#serve = serve;
    this.#broken = new Promise((_, reject) => {
      this.#breakOff = reject;
    });
    this.#broken.catch(() => {});
  }

  async readBody(deadlineMs: number, memory: BodyMemory): Promise<Uint8Array> {
    const { bodyBytes, clock } = this.#settings;
    checkDeclaredLength(this.#request, bodyBytes);
    memory.reserve(declaredLength(this.#request));
    // One that waited for its turn may have left, and what it sent is gone with it.
    if (this.#request.destroyed) throw closedEarly();
    if (this.#awaitsContinue && !this.#request.complete) {
      this.#awaitsContinue = false;
      this.#response.writeContinue();
    }
    const timeoutMs = Math.min(bodyTimeoutMs, deadlineMs - clock.nowMs());
    return readBody(this.#request, this.#broken, { bodyBytes, timeoutMs }, memory, clock);
  }

  isClosed(): boolean {
    const { socket } = this.#request;
    return socket.destroyed && !wasCutOff(socket) && !this.#response.writableFinished && !this.#isAnswered;
  }

  repliedStatus(): number | undefined {
    return this.#response.headersSent ? this.#response.statusCode : undefined;
  }

  reply(reply: ClientResponse, deadlineMs: number): Promise<void> {
    const exchange: Exchange = {
      request: this.#request,
      response: this.#response,
      clock: this.#settings.clock,
      bodyBytes: this.#settings.bodyBytes,
      isGone: () => this.#request.socket.destroyed,
      decideToClose: (mustClose) => this.#decideToClose(mustClose),
      cutOff: () => {
        this.#connection.closeAfterThis();
        return cutOff(this.#request.socket, this.#settings.clock);
      },
    };
    if (!isOwn(reply)) return streamAnswer(exchange, reply, deadlineMs);
    const wasThere = !exchange.isGone();
    const end = writeOwnReply(exchange, reply);
    // An answer of our own is out at once; what it still waits for is the rest of the request.
    this.#isAnswered = wasThere;
    return end;
  }

  get awaitsContinue(): boolean {
    return this.#awaitsContinue;
  }

  async serve(): Promise<void> {
    await this.#serve();
    const response = this.#response;
    if (response.closed || this.#request.socket.destroyed) return;
    await new Promise((resolve) => response.once("close", resolve));
  }

  breakOff(failure: ProxyError): void {
    if (!this.#request.complete) this.#breakOff(failure);
  }

  drained(): void {
    this.#response.emit("drain");
  }

  /** Whether this answer ends the connection. In a drain it is the newest request's, so that none goes unanswered. */
  #decideToClose(mustClose: boolean): boolean {
    const connection = this.#connection;
    const isUnsure = this.#hasUnreadBody() || this.#awaitsContinue;
    const mayClose = connection.isClosing || this.#settings.isDraining();
    const isLast = mustClose || isUnsure || (mayClose && connection.isNewest(this));
    if (isLast) connection.closeAfterThis();
    return isLast;
  }

  #hasUnreadBody(): boolean {
    const { complete, readableEnded, readableLength } = this.#request;
    return !readableEnded && !(complete && readableLength === 0);
  }
}

function isOwn(reply: ClientResponse): reply is LocalReply {
  return reply.body instanceof Uint8Array;
}

/** Node's flat list of names and values as lines. */
export function pairUp(raw: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) lines.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return lines;
}
