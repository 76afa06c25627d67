import { formatFieldLines } from "../../http/field-line.ts";
import type { UpstreamRequest } from "../../proxy/messages.ts";

const forbiddenInPath = /[^\x21-\x7e]/;

/**
 * A request as it is written, head and body in one: as a string in Latin-1 where the body is ASCII, for which no buffer has
 * to be made, else as bytes.
 * @throws Error where a line could be taken for two; what is sent was checked before, so that is a defect
 */
export function formatRequest(authority: string, { path, headers, render }: UpstreamRequest): string | Buffer {
  const lines = formatFieldLines(headers);
  if (lines === undefined || forbiddenInPath.test(path)) throw new Error("a character that ends a line");
  const body = render();
  const bodyBytes = Buffer.byteLength(body);
  const head = `POST ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n${lines}content-length: ${bodyBytes}\r\n\r\n`;
  if (bodyBytes === body.length) return head + body;
  const message = Buffer.allocUnsafe(head.length + bodyBytes);
  message.write(head, "latin1");
  message.write(body, head.length);
  return message;
}
