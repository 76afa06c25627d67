import { once } from "node:events";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectSecurely } from "node:tls";
import { onTestFinished } from "vitest";
import { order } from "./call.ts";
import { searchAnswers } from "./leaks/outflow.ts";

/** Differences of a raw POST from a plain, correct one. Header lines are whole, without their line ends. */
export interface RawPost {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  readonly host?: readonly string[];
  readonly type?: readonly string[];
  readonly connection?: readonly string[];
  /** Header lines instead of the body's Content-Length. */
  readonly framing?: readonly string[];
  readonly more?: readonly string[];
  readonly body?: string;
}

export const orderText = JSON.stringify(order);

/** The bytes of an order; by default a correct one on a connection that ends with its answer. */
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

/** A text as one chunk, followed by the last chunk. */
export function chunked(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

/** An answer, as received. */
export interface RawAnswer {
  readonly status: number;
  /** Names and values as written. */
  readonly lines: readonly string[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Without its chunk framing, if it came in chunks; latin1. */
  readonly body: string;
  /** The body, read as UTF-8. */
  readonly text: string;
  /** Whether the body ended as its head announced, so that a client takes it for whole. */
  readonly isComplete: boolean;
  value(name: string): string | undefined;
  values(name: string): string[];
}

/** The first answer in the bytes of a connection (latin1), whole or not, and the bytes after it. */
export function nextAnswer(bytes: string): { readonly answer: RawAnswer; readonly rest: string } {
  const end = bytes.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = (end === -1 ? bytes : bytes.slice(0, end)).split("\r\n");
  const pairs = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  const values = (name: string) => pairs.flatMap(([own, value]) => (own === name.toLowerCase() ? [value] : []));
  const value = (name: string) => values(name)[0];
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1] ?? 0);
  const read = end === -1 ? { body: "", isComplete: false, rest: "" } : takeBody(bytes.slice(end + 4), status, value);
  const { rest, body, isComplete } = read;
  const text = Buffer.from(body, "latin1").toString("utf8");
  const headers = Object.fromEntries(pairs);
  return { answer: { status, lines, headers, body, text, isComplete, value, values }, rest };
}

/** Without a length or chunks all bytes are the body, and its end cannot be recognised. */
function takeBody(bytes: string, status: number, value: (name: string) => string | undefined) {
  if (value("transfer-encoding") === "chunked") return joinChunks(bytes);
  const hasNone = status < 200 || status === 204 || status === 304;
  const length = hasNone ? 0 : Number(value("content-length") ?? Number.NaN);
  const body = Number.isNaN(length) ? bytes : bytes.slice(0, length);
  return { body, isComplete: body.length === length, rest: bytes.slice(body.length) };
}

function joinChunks(text: string): { body: string; isComplete: boolean; rest: string } {
  let body = "";
  for (let rest = text; ; ) {
    const [line, size = ""] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? [];
    if (line === undefined) return { body, isComplete: false, rest: "" };
    const length = Number.parseInt(size, 16);
    const chunk = rest.slice(line.length, line.length + length + 2);
    body += chunk.slice(0, length);
    rest = rest.slice(line.length + length + 2);
    if (chunk.length < length + 2) return { body, isComplete: false, rest: "" };
    if (length === 0) return { body, isComplete: true, rest };
  }
}

/**
 * Every answer in the bytes of a connection (latin1), interim ones too.
 * @throws Error when the bytes end within an answer
 */
export function readAnswers(bytes: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = bytes; rest !== ""; ) {
    const next = nextAnswer(rest);
    if (!next.answer.isComplete) throw new Error(`not a whole answer: ${rest.slice(0, 100)}`);
    answers.push(next.answer);
    rest = next.rest;
  }
  return answers;
}

/** @param text everything received until the connection closed, latin1; bytes beyond the answer make it incomplete */
export function readAnswer(text: string): RawAnswer {
  const { answer, rest } = nextAnswer(text);
  return rest === "" ? answer : { ...answer, body: answer.body + rest, isComplete: false };
}

/** A connection whose bytes the test writes itself. Ends with the test. */
export class RawConnection {
  readonly socket: Socket;
  /** Everything received until the connection closed. */
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

  /** @param to a port of loopback, or any other address; with authorities: over TLS */
  static async open(to: number | NetConnectOpts | ConnectionOptions): Promise<RawConnection> {
    const at = { ...(typeof to === "number" ? { port: to, host: "127.0.0.1" } : to), allowHalfOpen: true };
    const socket = "ca" in at ? connectSecurely(at as ConnectionOptions) : connect(at as NetConnectOpts);
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
   * Resolves with everything received, as soon as it matches.
   * @throws Error if the connection ends or is reset before that
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

  /** Resolves with everything received, once the other side has ended. */
  async ended(): Promise<string> {
    if (this.socket.readableEnded || this.socket.closed) return this.#text;
    // `once` rejects at an error, such as the reset of a cut answer; `close` follows.
    await Promise.race([once(this.socket, "end").catch(() => this.closed), this.closed]);
    return this.#text;
  }

  /** Closes the connection as the end of a process does. */
  async leave(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

/** Sends these bytes on a new connection. @returns everything that came back */
export async function sendRaw(to: number | NetConnectOpts, bytes: string): Promise<string> {
  const connection = await RawConnection.open(to);
  const text = await connection.write(bytes).ended();
  connection.socket.end();
  return text;
}

/** One exchange on a new connection, read to its close: all its answers, interim ones first. */
export async function exchange(port: number, bytes: string): Promise<RawAnswer[]> {
  return readAnswers(await sendRaw(port, bytes));
}

/** The only answer of an exchange. */
export async function ask(port: number, given: RawPost | string = {}): Promise<RawAnswer> {
  const [answer, ...more] = await exchange(port, typeof given === "string" ? given : rawPost(given));
  if (answer === undefined || more.length > 0) throw new Error(`${more.length + 1} answers instead of one`);
  return answer;
}

/** One order on a new connection, and every byte that came back. */
export async function orderRaw(
  port: number,
  headers: Readonly<Record<string, string>> = {},
  body: unknown = order,
): Promise<RawAnswer> {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return readAnswer(await sendRaw(port, rawPost({ more, body: JSON.stringify(body) })));
}

/** How the other side ended a connection: orderly (FIN) or by a reset (RST). */
export type End = "fin" | "rst";

export interface Ordered {
  readonly answer: RawAnswer;
  readonly text: string;
  readonly end: End;
}

/**
 * One order on a new connection, every byte that came back, and how the connection ended.
 * @param closesHalf whether the caller ends its own side once the answer begins
 * @param onAnswer called when the answer begins
 */
export async function orderToTheEnd(
  to: NetConnectOpts | ConnectionOptions,
  given: RawPost = {},
  { closesHalf = false, onAnswer = () => {} }: { closesHalf?: boolean; onAnswer?: () => void } = {},
): Promise<Ordered> {
  const { socket, closed } = await RawConnection.open(to);
  const isUnix = "path" in to && to.path !== undefined;
  let end: End = "rst";
  socket.once("data", onAnswer);
  if (closesHalf) socket.once("data", () => socket.end());
  // If a reset comes together with bytes, libuv reports an orderly end, but then the socket has no peer any more. It has none
  // either if both sides have ended.
  socket.on("end", () => {
    if (isUnix || closesHalf || socket.remoteAddress !== undefined) end = "fin";
    socket.destroy();
  });
  socket.write(rawPost(given), "latin1");
  const text = await closed;
  return { answer: readAnswer(text), text, end };
}
