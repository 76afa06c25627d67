import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { HeaderLines } from "../../http/headers.ts";
import type { BodyStream, StreamedRequest } from "../../pass-through/messages.ts";

/** All that http-proxy asks of a response that it does not write: that there is nothing to be told of its end. */
export const noResponse = { finished: true } as unknown as ServerResponse;

/**
 * All that http-proxy asks of a request: what it copies, and where it would pipe it.
 * @param onMade gets the request that http-proxy has made, of which nothing is written yet
 */
export function toIncoming(
  given: StreamedRequest,
  authority: string,
  onMade: (made: ClientRequest) => void,
): IncomingMessage {
  const incoming = {
    method: given.method,
    url: given.path,
    headers: headersOf(given, authority),
    socket: { destroyed: false },
    // It would be told that the caller has left or sent something wrong. Both end the exchange.
    on: () => incoming,
    pipe: onMade,
  };
  return incoming as unknown as IncomingMessage;
}

/** Those of one name stand together: of several, Node takes the last. */
function headersOf(
  { headers, body, upgrades }: StreamedRequest,
  authority: string,
): Record<string, string | string[] | undefined> {
  const lines: HeaderLines = ["host", authority, ...headers, ...framingOf(body), ...switchOf(upgrades)];
  const valuesOf = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (let at = 0; at < lines.length; at += 2) {
    const [name = "", value = ""] = [lines[at], lines[at + 1]];
    const known = valuesOf.get(name.toLowerCase());
    if (known === undefined) valuesOf.set(name.toLowerCase(), { name, values: [value] });
    else known.values.push(value);
  }
  const fields = [...valuesOf.values()].map(
    ({ name, values }) => [name, values.length > 1 ? values : values[0]] as const,
  );
  return Object.fromEntries(fields);
}

/** Each body gets its framing anew; one that has none is a request without a body, whatever its method. */
function framingOf(body: BodyStream | undefined): HeaderLines {
  if (body === undefined) return [];
  const { declaredBytes } = body;
  return declaredBytes === undefined ? ["transfer-encoding", "chunked"] : ["content-length", String(declaredBytes)];
}

function switchOf(upgrades: boolean): HeaderLines {
  return upgrades ? ["connection", "Upgrade", "upgrade", "websocket"] : [];
}
