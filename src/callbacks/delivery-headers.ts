import { connectionOptions, firstOf, type HeaderLines, one } from "../http/headers.ts";

/**
 * What a callback's head tells the application. No header is signed, so only those pass that decide nothing; above all
 * none that could be taken for one of ours, such as `Countersign_Verified` is by CGI.
 */
const passed = ["accept", "user-agent", "traceparent", "tracestate"];

/**
 * The headers of a genuine callback for the application.
 * @param key K… of the key that verified it
 * @param requestId of the sender where it gave one, else ours
 */
export function deliveryHeaders(headers: HeaderLines, key: string, requestId: string): HeaderLines {
  const dropped = connectionOptions(headers);
  const kept = passed.flatMap((name) => {
    const value = firstOf(headers, name);
    return value === undefined || dropped.includes(name) ? [] : [name, value];
  });
  // The body was read by it, so the application reads it so too, whatever Connection says.
  const type = one(headers, "content-type");
  if (type !== undefined) kept.unshift("content-type", type);
  return [...kept, "x-request-id", requestId, "Countersign-Verified", key];
}
