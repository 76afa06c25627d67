import { once } from "node:events";
import { connect } from "node:net";
import { searchAnswers } from "../test/leaks/outflow.ts";

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
  await once(socket, "close");
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
