import { connectionOptions, firstOf, type HeaderLines, hopByHop } from "../http/headers.ts";
import type { Environment } from "../model/environment.ts";

/** Set anew, or meant for Countersign alone: the caller's credentials are not the service's. */
const ours: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...["authorization", "content-length", "cookie", "expect", "host", "http2-settings"],
  // No header that a program can have meant; in an object it is something else.
  "__proto__",
]);

/** The request headers that are sent: all that are meant for the service, as they came. */
export function headersUpstream(
  headers: HeaderLines,
  { via }: Pick<Environment, "via">,
  requestId: string,
): HeaderLines {
  const dropped = connectionOptions(headers);
  const sent: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [given = "", value = ""] = [headers[at], headers[at + 1]];
    const name = given.toLowerCase();
    if (ours.has(name) || name.startsWith("countersign-") || dropped.includes(name)) continue;
    sent.push(given, value);
  }
  if (firstOf(sent, "x-request-id") === undefined) sent.push("x-request-id", requestId);
  if (via) sent.push("via", "1.1 countersign");
  return sent;
}

/** Whether a request asks to go on with WebSocket (RFC 6455 section 4.1). */
export function asksForWebSocket(method: string, headers: HeaderLines): boolean {
  if (method !== "GET" || !connectionOptions(headers).includes("upgrade")) return false;
  return firstOf(headers, "upgrade")?.toLowerCase() === "websocket";
}
