import type { RequestDetails } from "../model/events.ts";
import { valuesOf } from "./headers.ts";
import type { ClientConnection, HeaderLine, ListenerContext } from "./messages.ts";
import { peekRequestId } from "./request-options.ts";
import { targetInLog } from "./target.ts";

/** Longer than any identifier of a service. */
const longestUpstreamHeader = 256;

/** What the log says of a request while it is under way. */
export type Details = { -readonly [Name in keyof RequestDetails]: RequestDetails[Name] };

/** What the log says of a request before anything about it is checked. */
export function detailsOnArrival(
  { method, target, peer, headers }: ClientConnection,
  listener: ListenerContext,
): Details {
  return {
    method,
    // A tunnel's target is a foreign host and its path is not known.
    target: target === undefined || method === "CONNECT" ? undefined : targetInLog(target),
    listener: listener.listener,
    caller: peer?.subject,
    callerAddress: peer?.address,
    callerRequestId: peekRequestId(headers),
  };
}

/**
 * The answer's headers of these names, bounded: it is foreign text.
 * @returns undefined where it has none of them
 */
export function pickHeaders(
  headers: readonly HeaderLine[],
  names: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = valuesOf(headers, name).join(", ");
    if (value !== "") found[name] = cut(value);
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

function cut(text: string): string {
  return text.length > longestUpstreamHeader ? `${text.slice(0, longestUpstreamHeader)}…` : text;
}
