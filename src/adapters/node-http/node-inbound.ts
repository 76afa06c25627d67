import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import type { HeaderLine, Inbound, Reply } from "../../journey/messages.ts";
import { checkDeclaredLength, readBody } from "./read-body.ts";
import { writeReply } from "./write-reply.ts";

export interface InboundSettings {
  readonly bodyBytes: number;
  readonly clock: Clock;
  /** Whether connections end with their next answer. */
  readonly isDraining: () => boolean;
}

/** A body must arrive within this time (row 7). */
const bodyTimeoutMs = 15_000;

/** A request of node:http as the journey sees it. */
export class NodeInbound implements Inbound {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #settings: InboundSettings;
  readonly #broken: Promise<never>;
  readonly #wantsContinue: boolean;
  #breakOff: (error: Error) => void = () => {};
  #mustClose = false;

  constructor(request: IncomingMessage, response: ServerResponse, settings: InboundSettings, wantsContinue: boolean) {
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.headers = pairUp(request.rawHeaders);
    this.#request = request;
    this.#response = response;
    this.#settings = settings;
    this.#wantsContinue = wantsContinue;
    this.#broken = new Promise((_, reject) => {
      this.#breakOff = reject;
    });
    this.#broken.catch(() => {});
  }

  async readBody(deadlineMs: number): Promise<Uint8Array> {
    const { bodyBytes, clock } = this.#settings;
    checkDeclaredLength(this.#request, bodyBytes);
    if (this.#wantsContinue) this.#response.writeContinue();
    const timeoutMs = Math.min(bodyTimeoutMs, deadlineMs - clock.nowMs());
    return readBody(this.#request, this.#broken, { bodyBytes, timeoutMs }, clock);
  }

  callerLeft(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  repliedStatus(): number | undefined {
    return this.#response.headersSent ? this.#response.statusCode : undefined;
  }

  reply(reply: Reply): Promise<void> {
    const mustClose = this.#mustClose || this.#settings.isDraining();
    return writeReply(this.#request, this.#response, reply, mustClose, this.#settings.clock);
  }

  /** The connection's parser gave up: a body still being read fails, and the connection ends with this answer. */
  breakOff(error: Error): void {
    this.#mustClose = true;
    this.#breakOff(error);
  }
}

/** Node's flat list of names and values as lines. */
export function pairUp(raw: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) lines.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return lines;
}
