import { hopByHop } from "../http/hop-by-hop.ts";
import type { HeaderLine } from "./messages.ts";

/** The caller's request headers that go upstream when the caller sent them. */
const passedUpstream: readonly string[] = [
  "user-agent",
  "accept-language",
  "traceparent",
  "tracestate",
  "x-request-id",
];

/** Every value of a header, names compared without case. */
export function valuesOf(headers: readonly HeaderLine[], name: string): string[] {
  return headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
}

/** The names that a Connection header declares to be meant for this connection only. */
function namedByConnection(headers: readonly HeaderLine[]): ReadonlySet<string> {
  const names = valuesOf(headers, "connection").flatMap((value) => value.split(","));
  return new Set(names.map((name) => name.trim().toLowerCase()));
}

/**
 * The request headers that leave: set by us, or let through by name. Everything else stays behind, so no casing or
 * obfuscation of `Authorization`, cookies or framing can slip by.
 */
export function headersUpstream(
  headers: readonly HeaderLine[],
  environment: { readonly forwardHeaders: readonly string[]; readonly via: boolean },
  requestId: string,
): HeaderLine[] {
  const dropped = namedByConnection(headers);
  const allowed = new Set([...passedUpstream, ...environment.forwardHeaders]);
  const passed = headers
    .map(([name, value]): HeaderLine => [name.toLowerCase(), value])
    .filter(([name]) => allowed.has(name) && !dropped.has(name) && !hopByHop.has(name));
  const isIdentified = passed.some(([name]) => name === "x-request-id");
  return [
    ["accept", "application/json"],
    ["content-type", "application/json"],
    ...passed,
    ...(isIdentified ? [] : [["x-request-id", requestId] as const]),
    ...(environment.via ? [["via", "1.1 countersign"] as const] : []),
  ];
}

/** The answer's headers that reach the caller: all but the hop-by-hop ones and any that could pass for ours. */
export function headersDownstream(headers: readonly HeaderLine[]): HeaderLine[] {
  const dropped = namedByConnection(headers);
  return headers.filter(([given]) => {
    const name = given.toLowerCase();
    return !hopByHop.has(name) && !dropped.has(name) && !name.startsWith("countersign-");
  });
}

/** Whether an answer told where its body ends, or had none (RFC 9112 section 6.3). */
export function isFramed({ status, headers }: { readonly status: number; readonly headers: readonly HeaderLine[] }) {
  if (status === 204 || status === 304) return true;
  // Any other last coding is ended by the close.
  const isChunked = /(?:^|,)[ \t]*chunked[ \t]*$/i.test(valuesOf(headers, "transfer-encoding").join(","));
  return isChunked || valuesOf(headers, "content-length").length > 0;
}
