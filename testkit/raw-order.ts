import { connect, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectSecurely } from "node:tls";
import { order } from "./call.ts";
import { searchAnswers } from "./leaks/outflow.ts";
import { type RawPost, rawPost } from "./raw-caller.ts";

/** Sends these bytes on a connection of their own and returns everything that came back until it closed. */
export async function sendRaw(
  port: number,
  bytes: string | Uint8Array,
  then: { readonly endAfter?: boolean } = {},
): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  socket.write(bytes);
  if (then.endAfter === true) socket.end();
  // A reset is an end too: what came before it counts.
  await new Promise((resolve) => socket.on("close", resolve));
  const text = Buffer.concat(chunks).toString("latin1");
  searchAnswers(text);
  return text;
}

/** Status, headers in lower case and body of one raw HTTP/1.1 answer. */
export function parseAnswer(text: string): { status: number; headers: Record<string, string>; body: string } {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(statusLine.split(" ")[1]), headers: Object.fromEntries(headers), body: text.slice(end + 4) };
}

/** An answer as its bytes came, until the connection closed. */
export interface RawAnswer {
  readonly status: number;
  /** Names and values as written. */
  readonly lines: readonly string[];
  /** Taken out of its chunks where it came in chunks; latin1. */
  readonly body: string;
  /** Whether the body ended as its head said, so that a client takes it for whole. */
  readonly isComplete: boolean;
  value(name: string): string | undefined;
  values(name: string): string[];
}

/** One order on a connection of its own, and everything that came back, to the byte. */
export async function orderRaw(
  port: number,
  headers: Readonly<Record<string, string>> = {},
  body: unknown = order,
): Promise<RawAnswer> {
  const bytes = typeof body === "string" ? body : JSON.stringify(body);
  const own = {
    Host: "127.0.0.1",
    Connection: "close",
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(bytes)),
    ...headers,
  };
  const lines = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`);
  return readAnswer(await sendRaw(port, `POST /create_order HTTP/1.1\r\n${lines.join("")}\r\n${bytes}`));
}

/** @param text everything that came until the connection closed, latin1 */
export function readAnswer(text: string): RawAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = (end === -1 ? text : text.slice(0, end)).split("\r\n");
  const values = (name: string) =>
    lines
      .filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
      .map((line) => line.slice(name.length + 1).trim());
  const value = (name: string) => values(name)[0];
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1] ?? 0);
  const rest = end === -1 ? "" : text.slice(end + 4);
  return { status, lines, value, values, ...readBody(rest, status, value, end !== -1) };
}

function readBody(rest: string, status: number, value: (name: string) => string | undefined, hasHead: boolean) {
  if (status === 204 || status === 304) return { body: rest, isComplete: hasHead && rest === "" };
  if (value("transfer-encoding") === "chunked") return joinChunks(rest);
  return { body: rest, isComplete: hasHead && Buffer.byteLength(rest, "latin1") === Number(value("content-length")) };
}

function joinChunks(text: string): { body: string; isComplete: boolean } {
  let body = "";
  for (let rest = text; ; ) {
    const [, size = "", after = ""] = /^([0-9a-f]+)\r\n(.*)$/is.exec(rest) ?? [];
    const length = Number.parseInt(size, 16);
    if (size === "" || after.length < length + 2) return { body: body + after, isComplete: false };
    if (length === 0) return { body, isComplete: after === "\r\n" };
    body += after.slice(0, length);
    rest = after.slice(length + 2);
  }
}

/** How the other side ended a connection: orderly (FIN), or by a reset (RST). */
export type End = "fin" | "rst";

export interface Ordered {
  readonly answer: RawAnswer;
  readonly text: string;
  readonly end: End;
}

/**
 * One order on a connection of its own, every byte that came back, and how the connection ended.
 * @param then whether the caller closes its half once the answer begins
 */
export function orderToTheEnd(
  to: NetConnectOpts | ConnectionOptions,
  given: RawPost = {},
  then: { readonly closesHalf?: boolean } = {},
): Promise<Ordered> {
  return new Promise((resolve) => {
    const socket: Socket =
      "ca" in to
        ? connectSecurely({ ...to, allowHalfOpen: true } as ConnectionOptions)
        : connect({ ...(to as NetConnectOpts), allowHalfOpen: true });
    const isUnix = "path" in to && to.path !== undefined;
    let text = "";
    let end: End = "rst";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
      if (then.closesHalf === true) socket.end();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      searchAnswers(text);
      resolve({ answer: readAnswer(text), text, end });
    });
    // A reset that comes together with bytes looks like an orderly end (libuv), but then there is no peer any more. Where
    // both sides have ended there is none either.
    socket.on("end", () => {
      if (isUnix || then.closesHalf === true || socket.remoteAddress !== undefined) end = "fin";
      socket.destroy();
    });
    socket.write(rawPost(given), "latin1");
  });
}
