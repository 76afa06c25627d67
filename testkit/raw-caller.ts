import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { order } from "./call.ts";
import { searchAnswers } from "./leaks/outflow.ts";

/** What a raw POST differs in from a plain, correct one. Header lines are given whole, without their line ends. */
export interface RawPost {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  readonly host?: readonly string[];
  readonly type?: readonly string[];
  readonly connection?: readonly string[];
  /** In place of the body's Content-Length. */
  readonly framing?: readonly string[];
  readonly more?: readonly string[];
  readonly body?: string;
}

export const orderText = JSON.stringify(order);

/** The bytes of an order; without more said, a correct one on a connection that ends with its answer. */
export function rawPost(given: RawPost = {}): string {
  const { method = "POST", target = "/create_order", version = "HTTP/1.1", body = orderText } = given;
  const lines = [
    `${method} ${target} ${version}`,
    ...(given.host ?? ["Host: 127.0.0.1"]),
    ...(given.type ?? ["Content-Type: application/json"]),
    ...(given.connection ?? ["Connection: close"]),
    ...(given.framing ?? [`Content-Length: ${Buffer.byteLength(body)}`]),
    ...(given.more ?? []),
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A text as one chunk and the end of all chunks. */
export function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

export interface RawAnswered {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/**
 * Every answer in the bytes of a connection (latin1), interim ones too.
 * @throws Error when the bytes end within an answer
 */
export function readAnswers(bytes: string): RawAnswered[] {
  const answers: RawAnswered[] = [];
  for (let rest = bytes; rest !== ""; ) {
    const end = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = rest.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (end === -1 || Number.isNaN(status)) throw new Error(`not a whole answer: ${rest.slice(0, 100)}`);
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    const length = Number(headers["content-length"] ?? (status < 200 || status === 204 ? 0 : Number.NaN));
    const text = rest.slice(end + 4, end + 4 + length);
    if (text.length !== length) throw new Error(`not a whole answer: ${rest.slice(0, 100)}`);
    answers.push({ status, headers, text: Buffer.from(text, "latin1").toString("utf8") });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** A connection whose bytes the test writes itself. It ends with the test. */
export class RawConnection {
  readonly socket: Socket;
  /** Everything that came until the connection closed. */
  readonly closed: Promise<string>;
  #text = "";

  private constructor(socket: Socket) {
    this.socket = socket.setMaxListeners(0);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.#text += text;
      socket.emit("text");
    });
    socket.on("error", () => {});
    socket.once("end", () => searchAnswers(this.#text));
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        if (!socket.readableEnded) searchAnswers(this.#text);
        resolve(this.#text);
      });
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const connection = new RawConnection(socket);
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return connection;
  }

  write(bytes: string): this {
    this.socket.write(bytes, "latin1");
    return this;
  }

  /**
   * Resolves with all that came as soon as it matches.
   * @throws Error where the connection ends or is reset before
   */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#text)) {
      if (this.socket.readableEnded || this.socket.closed) {
        throw new Error(`ended without ${pattern}: ${this.#text.slice(0, 300)}`);
      }
      await Promise.race([once(this.socket, "text"), once(this.socket, "end"), this.closed]);
    }
    return this.#text;
  }

  /** Resolves with all that came when the other side has said its last word. */
  async ended(): Promise<string> {
    if (this.socket.readableEnded || this.socket.closed) return this.#text;
    // `once` fails by an error, like the reset that ends a cut answer; `close` follows.
    await Promise.race([once(this.socket, "end").catch(() => this.closed), this.closed]);
    return this.#text;
  }

  /** Closes as a process that ends. */
  async leave(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

/** One exchange on a connection of its own, read to the close: all answers on it, interim ones first. */
export async function exchange(port: number, bytes: string): Promise<RawAnswered[]> {
  const connection = await RawConnection.open(port);
  const text = await connection.write(bytes).ended();
  connection.socket.end();
  return readAnswers(text);
}

/** The only answer of an exchange. */
export async function ask(port: number, given: RawPost | string = {}): Promise<RawAnswered> {
  const [answer, ...more] = await exchange(port, typeof given === "string" ? given : rawPost(given));
  if (answer === undefined || more.length > 0) throw new Error(`${more.length + 1} answers instead of one`);
  return answer;
}
