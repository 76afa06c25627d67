import { ProxyError } from "../model/errors.ts";
import { ownPrefix } from "../model/listener.ts";
import type { ListenerContext } from "./messages.ts";

/** A request target in its parts. They are only compared, never resolved against a URL (RFC 9112 section 3.2). */
export interface Target {
  readonly text: string;
  /** Scheme and authority are as received, and absent in origin-form. */
  readonly scheme?: string;
  readonly authority?: string;
  /** With its query; absent if the target is neither a path nor a URL. */
  readonly path?: string;
}

/** scheme "://" authority path; the authority is checked separately. */
const absoluteForm = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(.*)$/;
const hostAndPort = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/;
const longestShown = 80;
/** A name of 253 characters (RFC 1035 section 2.3.4) and a port. */
const longestHost = 259;
/** The plain start of a path. It must not be `//`, which a host follows. */
const pathInLog = /^\/(?!\/)[A-Za-z0-9_.~/:-]{0,127}/;

/** Names of this machine; a listener on loopback is always reachable by them. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

export function parseTarget(text: string): Target {
  if (text.startsWith("/")) return { text, path: text };
  const [, scheme, authority, path] = absoluteForm.exec(text) ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) return { text };
  return { text, scheme, authority, path };
}

/**
 * A URL of another host comes through HTTP_PROXY. It is refused before Host, path and body are checked.
 * @throws ProxyError target_not_allowed (403)
 */
export function checkAuthority({ scheme, authority }: Target, { environment, hosts }: ListenerContext): void {
  if (scheme === undefined || authority === undefined || authority.includes("@")) return;
  const { baseUrl } = environment;
  const [, name, port] = hostAndPort.exec(authority.toLowerCase()) ?? [];
  // Without a port the default port of the baseUrl's scheme is meant: http://api/ reaches https://api/.
  const defaultPort = baseUrl.scheme === "https" ? 443 : 80;
  const isService = name === baseUrl.host && Number(port ?? defaultPort) === baseUrl.port;
  if (isService && scheme.toLowerCase() === "http") return;
  const shown = show(`${scheme}://${authority}`);
  const isOwn = name !== undefined && hosts !== "any" && hosts.has(name) && name !== baseUrl.host;
  throw foreign(
    isOwn
      ? `${shown} is an address of Countersign itself, and the request came through the proxy setting: set ` +
          `NO_PROXY=${name} where HTTP_PROXY is set`
      : `${shown} is not the service of this listener's environment, which is ${baseUrl.host}:${baseUrl.port}; if the ` +
          "call is meant for it, name it in NO_PROXY where HTTP_PROXY is set",
    authority,
  );
}

/** @throws ProxyError target_not_allowed for a target that is no path, and for a foreign Host */
export function originPath({ text, path }: Target, host: string, { hosts }: ListenerContext): string {
  if (path === undefined) {
    const what = `The request target ${show(text)} is neither a path nor an http URL.`;
    throw new ProxyError("target_not_allowed", what, { causedBy: "no path" });
  }
  const name = hostAndPort.exec(host.toLowerCase())?.[1];
  if (hosts === "any" || (name !== undefined && hosts.has(name))) return path;
  throw foreign(
    `The Host ${show(host)} is not one of this listener's; add it to the listener's hosts if it should be`,
    host,
  );
}

/** A once key follows, to be looked up. The log does not have it. */
export const lookUpPrefix = `${ownPrefix}once/`;

/**
 * A request target for the log. A path is shown up to its first character that is not plain, such as the `?` of a query: the
 * rest may hold parameters. Of a URL only scheme and host are shown: another service's URL may have a secret in its path.
 * @param method empty if the head could not be read
 * @returns undefined for an empty method, and for CONNECT, whose target is a foreign host
 */
export function targetInLog(method: string, { text, scheme, authority }: Target): string | undefined {
  if (method === "" || method === "CONNECT") return undefined;
  const path = text.startsWith(lookUpPrefix) ? lookUpPrefix : pathInLog.exec(text)?.[0];
  if (path !== undefined) return path.length === text.length ? text : `${path}…`;
  return /^https?$/i.test(scheme ?? "") && isHost(authority) ? `${scheme}://${authority}/…` : "…";
}

/** @param host the foreign host; the log repeats it if it is a valid host name */
export function foreign(what: string, host?: string): ProxyError {
  return new ProxyError("target_not_allowed", `${what}.`, { status: 403, causedBy: isHost(host) ? host : undefined });
}

export function isHost(text: string | undefined): text is string {
  return text !== undefined && text.length <= longestHost && hostAndPort.test(text.toLowerCase());
}

/** Foreign text, printable and short, without query and fragment, which may hold parameters, and without user information. */
export function show(text: string): string {
  const plain = text.replace(/([?#]).*$/s, "$1…");
  const shown = plain.replace(/^.*@/s, "…@").replace(/[^\x21-\x7e…]/g, "?");
  return shown.length <= longestShown ? shown : `${shown.slice(0, longestShown)}…`;
}
