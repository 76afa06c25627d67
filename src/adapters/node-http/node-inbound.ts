import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import type { BodyMemory, HeaderLine, Inbound, OwnReply, Peer, Reply } from "../../journey/messages.ts";
import type { Exchange } from "./exchange.ts";
import { checkDeclaredLength, declaredLength, readBody } from "./read-body.ts";
import { streamAnswer } from "./stream-answer.ts";
import { writeOwnReply } from "./write-own-reply.ts";

export interface InboundSettings {
  readonly bodyBytes: number;
  readonly clock: Clock;
  /** Whether connections end with their next answer. */
  readonly isDraining: () => boolean;
}

/** What the requests of one connection know of each other; there are several at once where the caller pipelines. */
export interface Exchanges {
  /** In their order. */
  readonly unanswered: Set<NodeInbound>;
  /** An answer has announced the connection's end. */
  isClosing: boolean;
}

/** A body must arrive within this time (row 7). */
const bodyTimeoutMs = 15_000;

/** A request of node:http as the journey sees it. */
export class NodeInbound implements Inbound {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly peer: Peer;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #settings: InboundSettings;
  readonly #broken: Promise<never>;
  /** It expects 100 Continue and has not had it: its body may never come, and Node closes after its answer. */
  #awaitsContinue: boolean;
  readonly #exchanges: Exchanges;
  #breakOff: (error: Error) => void = () => {};
  #mustClose = false;
  #isAnswered = false;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    settings: InboundSettings,
    wantsContinue: boolean,
    exchanges: Exchanges,
  ) {
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.headers = pairUp(request.rawHeaders);
    this.peer = { address: request.socket.remoteAddress };
    this.#request = request;
    this.#response = response;
    this.#settings = settings;
    this.#awaitsContinue = wantsContinue;
    this.#exchanges = exchanges;
    this.#broken = new Promise((_, reject) => {
      this.#breakOff = reject;
    });
    this.#broken.catch(() => {});
  }

  async readBody(deadlineMs: number, memory: BodyMemory): Promise<Uint8Array> {
    const { bodyBytes, clock } = this.#settings;
    checkDeclaredLength(this.#request, bodyBytes);
    memory.reserve(declaredLength(this.#request));
    if (this.#awaitsContinue) this.#continueInTurn();
    const timeoutMs = Math.min(bodyTimeoutMs, deadlineMs - clock.nowMs());
    return readBody(this.#request, this.#broken, { bodyBytes, timeoutMs }, memory, clock);
  }

  /** While an earlier answer is under way 100 Continue would land in the middle of that one. */
  #continueInTurn(): void {
    const response = this.#response;
    const writeContinue = () => {
      if (response.headersSent) return;
      this.#awaitsContinue = false;
      response.writeContinue();
    };
    if (response.socket === null) response.once("socket", writeContinue);
    else writeContinue();
  }

  callerLeft(): boolean {
    return this.#request.socket.destroyed && !this.#response.writableFinished && !this.#isAnswered;
  }

  repliedStatus(): number | undefined {
    return this.#response.headersSent ? this.#response.statusCode : undefined;
  }

  reply(reply: Reply, deadlineMs: number): Promise<void> {
    const exchange: Exchange = {
      request: this.#request,
      response: this.#response,
      clock: this.#settings.clock,
      isGone: () => this.#request.socket.destroyed,
      decideToClose: (wantsToClose) => this.#decideToClose(wantsToClose),
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

  /** Nothing is served on this connection after this request, whatever is there already. */
  closeAfterThis(): void {
    this.#mustClose = true;
    this.#exchanges.isClosing = true;
  }

  /**
   * The connection's parser gave up: a body that is not complete yet fails, and the connection ends with this answer. A
   * complete request is not disturbed by what follows it.
   */
  breakOff(error: Error): void {
    this.#mustClose = true;
    if (!this.#request.complete) this.#breakOff(error);
  }

  /** Whether this answer ends the connection. In a drain it is the newest request's, so that none goes unanswered. */
  #decideToClose(wantsToClose: boolean): boolean {
    const isNewest = [...this.#exchanges.unanswered].at(-1) === this;
    const wants = wantsToClose || this.#settings.isDraining();
    const isUnsure = !this.#request.complete || this.#awaitsContinue;
    const isLast = this.#mustClose || isUnsure || (isNewest && wants);
    if (isLast) this.#exchanges.isClosing = true;
    return isLast;
  }
}

function isOwn(reply: Reply): reply is OwnReply {
  return reply.body instanceof Uint8Array;
}

/** Node's flat list of names and values as lines. */
export function pairUp(raw: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) lines.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return lines;
}
