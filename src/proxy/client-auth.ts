import { type HeaderLines, valuesOf } from "../http/headers.ts";
import { ProxyError } from "../model/errors.ts";
import type { ListenerContext } from "./messages.ts";

/** One line for each: many clients read only the first challenge of a line (RFC 9110 section 11.7.1). */
const challenges: readonly string[] = ['Bearer realm="countersign"', 'Basic realm="countersign", charset="UTF-8"'];
const advice =
  "This listener wants a token with every request: give it as Proxy-Authorization: Bearer <token>, or in the proxy's " +
  "URL as http://caller:<token>@host:port.";

/** RFC 6750 section 2.1, and RFC 7617 section 2; schemes are compared without case. */
const bearer = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const basic = /^Basic +([A-Za-z0-9+/]+=*)$/i;

/**
 * Checks who calls, where the listener asks for that, before anything else about the request is looked at: a client that
 * is not authenticated takes no permit and learns nothing of what is served here.
 * @returns the name of the client's token; undefined where none is asked for
 * @throws ProxyError caller_not_authenticated
 */
export function authenticateClient(
  headers: HeaderLines,
  { callerTokens }: Pick<ListenerContext, "callerTokens">,
): string | undefined {
  if (callerTokens === undefined) return undefined;
  const [value, ...more] = valuesOf(headers, "proxy-authorization");
  if (value === undefined) throw refuse("The request has no Proxy-Authorization", "no Proxy-Authorization");
  if (more.length > 0) {
    throw refuse(`Proxy-Authorization was given ${more.length + 1} times; give it once`, "several Proxy-Authorization");
  }
  const given = readToken(value);
  if (given === undefined) throw refuse("Proxy-Authorization holds no token that can be read", "malformed token");
  // Every token is compared: the time that it takes does not tell which one came close.
  const [known] = callerTokens.filter(({ token }) => token.matches(given));
  if (known !== undefined) return known.name;
  throw refuse("The token in Proxy-Authorization is not one of this listener's", "unknown token");
}

/** A client that is given a proxy's URL with user and password sends Basic; the name of the user means nothing. */
function readToken(credentials: string): string | undefined {
  const encoded = basic.exec(credentials)?.[1];
  if (encoded === undefined) return bearer.exec(credentials)?.[1];
  return /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1];
}

function refuse(what: string, causedBy: string): ProxyError {
  return new ProxyError("caller_not_authenticated", `${what}. ${advice}`, { challenges, causedBy });
}
