import { connect } from "node:net";
import { searchAnswers } from "../test/leaks/outflow.ts";
import { order } from "./call.ts";

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
  return readAnswer(await exchange(port, `POST /create_order HTTP/1.1\r\n${lines.join("")}\r\n${bytes}`));
}

/** Everything until the connection is gone, by whatever end. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      searchAnswers(text);
      resolve(text);
    });
    socket.write(bytes);
  });
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
