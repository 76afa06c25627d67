import type { Address, Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { nearestName } from "../model/nearest-name.ts";
import type { ListenerContext } from "./messages.ts";

/** One or more segments of plain characters: nothing that a server could decode, collapse or climb. */
const operationPath = /^(?:\/[A-Za-z0-9_-]+)+$/;
/** scheme ":" "//" authority path; the authority is checked apart. */
const absoluteForm = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)([?#].*)?$/;
const hostAndPort = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/;
const longestShown = 80;
/** A name of 253 characters (RFC 1035 section 2.3.4) and a port. */
const longestHost = 259;
/** The plain beginning of a path; `//` would begin with a host. */
const pathInLog = /^\/(?!\/)[A-Za-z0-9_.~/:-]{0,127}/;

/** Names of this machine; a listener on loopback is always reachable by them. */
export const loopbackHosts: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * From a request target to the operation it calls. The target is only ever compared and taken apart, never resolved
 * against a URL, so `//evil`, `/\evil` and `http://evil` can lead nowhere else.
 * @param host the request's only Host value; its name counts in origin-form alone (RFC 9112 section 3.2)
 * @throws ProxyError query_not_allowed, target_not_allowed
 */
export function resolveTarget(target: string, host: string, listener: ListenerContext): string {
  const path = target.startsWith("/") ? originPath(target, host, listener) : absolutePath(target, listener);
  if (!operationPath.test(path)) {
    const what = `The path ${show(target)} is not an operation: ${explainForm(path)}.`;
    throw new ProxyError("target_not_allowed", `${what}${suggest(path, listener.environment)}`);
  }
  return path.slice(1);
}

function explainForm(path: string): string {
  if (path === "/") return "it is empty";
  if (!/\/(\/|$)/.test(path)) return "it may only have segments of A-Z a-z 0-9 _ and -";
  return "it has an empty segment (two slashes in a row, or one at the end)";
}

/** What to call instead: behind the base path, which is not the caller's to give, or of nearly the same name. */
function suggest(path: string, { baseUrl, operations }: Environment): string {
  const operation = withoutBasePath(path, baseUrl);
  const given = operation ?? segmentsOf(path).join("/");
  const known = operations === "any" ? [given].filter((name) => operationPath.test(`/${name}`)) : operations;
  const meant = nearestName(given, known);
  const added = operation === undefined ? "" : ` Countersign adds the base path ${baseUrl.path} itself: leave it out.`;
  return `${added}${meant === undefined ? "" : ` Call /${meant}.`}`;
}

/** What follows the baseUrl's path, in any case of letters; undefined where the path does not begin with it. */
function withoutBasePath(path: string, baseUrl: Address): string | undefined {
  const base = segmentsOf(baseUrl.path.toLowerCase());
  const segments = segmentsOf(path);
  const isBelow = base.length > 0 && base.every((segment, index) => segment === segments[index]?.toLowerCase());
  return isBelow ? segments.slice(base.length).join("/") : undefined;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

/**
 * A URL of another host came through HTTP_PROXY: that is said before anything else is found wrong with the request.
 * @throws ProxyError target_not_allowed (403)
 */
export function checkAuthority(
  target: string,
  { environment, hosts }: Pick<ListenerContext, "environment" | "hosts">,
): void {
  const [, scheme, authority] = absoluteForm.exec(target) ?? [];
  if (scheme === undefined || authority === undefined || authority.includes("@")) return;
  if (scheme.toLowerCase() === "http" && isAddressOf(authority.toLowerCase(), environment.baseUrl)) return;
  const shown = show(`${scheme}://${authority}`);
  const name = hostAndPort.exec(authority.toLowerCase())?.[1];
  const isOwn = name !== undefined && hosts !== "any" && hosts.has(name) && name !== environment.baseUrl.host;
  throw foreign(
    isOwn
      ? `${shown} is an address of Countersign itself, and the request came through the proxy setting: set ` +
          `NO_PROXY=${name} where HTTP_PROXY is set`
      : `${shown} is not the service of this listener's environment`,
    authority,
  );
}

/**
 * With `["*"]` too, what begins with the base path is refused: it would be sent with the base path twice.
 * @throws ProxyError operation_not_allowed
 */
export function checkOperation(operation: string, environment: Environment): void {
  const { name, operations, baseUrl } = environment;
  const isAllowed =
    operations === "any" ? withoutBasePath(operation, baseUrl) === undefined : operations.has(operation);
  if (isAllowed) return;
  throw new ProxyError(
    "operation_not_allowed",
    `The operation ${show(operation)} is not in the operations of environment ${name}.${suggest(operation, environment)}`,
  );
}

function originPath(target: string, host: string, listener: ListenerContext): string {
  const name = hostAndPort.exec(host.toLowerCase())?.[1];
  if (listener.hosts !== "any" && (name === undefined || !listener.hosts.has(name))) {
    throw foreign(
      `The Host ${show(host)} is not one of this listener's; add it to the listener's hosts if it should be`,
      host,
    );
  }
  return withoutQuery(target);
}

/** What a client sends that uses HTTP_PROXY (RFC 9112 section 3.2.2). */
function absolutePath(target: string, listener: ListenerContext): string {
  const { baseUrl } = listener.environment;
  const [, scheme, authority, path = "", rest] = absoluteForm.exec(target) ?? [];
  if (scheme === undefined || authority === undefined) {
    throw new ProxyError("target_not_allowed", `The request target ${show(target)} is neither a path nor an http URL.`);
  }
  if (authority.includes("@")) {
    throw new ProxyError("target_not_allowed", "The request target carries user information.");
  }
  checkAuthority(target, listener);
  if (!path.startsWith(`${baseUrl.path}/`)) {
    throw foreign(`The path of ${show(target)} does not begin with the baseUrl's, ${baseUrl.path}`);
  }
  return withoutQuery(path.slice(baseUrl.path.length) + (rest ?? ""));
}

/** An absent port stands for the baseUrl's own default port: http://api/ reaches https://api/. */
function isAddressOf(authority: string, baseUrl: Address): boolean {
  const [, name, port] = hostAndPort.exec(authority) ?? [];
  const defaultPort = baseUrl.scheme === "https" ? 443 : 80;
  return name === baseUrl.host && Number(port ?? defaultPort) === baseUrl.port;
}

function withoutQuery(path: string): string {
  if (!path.includes("?")) return path;
  throw new ProxyError(
    "query_not_allowed",
    "The target has a query string; from version 3.0 on every parameter goes into the JSON body.",
  );
}

/** @param host the foreign host; the log repeats it where it is one */
function foreign(what: string, host?: string): ProxyError {
  return new ProxyError("target_not_allowed", `${what}.`, { status: 403, causedBy: isHost(host) ? host : undefined });
}

function isHost(text: string | undefined): boolean {
  return text !== undefined && text.length <= longestHost && hostAndPort.test(text.toLowerCase());
}

/**
 * A request target for the log. A path is shown up to its query, or to whatever else is not plain, since that may hold
 * what a query would. Of a URL only scheme and host are shown: it may be another service's, with a secret in its path.
 */
export function targetInLog(target: string): string {
  const path = pathInLog.exec(target)?.[0];
  if (path !== undefined) return path.length === target.length ? target : `${path}…`;
  const [, scheme = "", authority] = absoluteForm.exec(target) ?? [];
  return /^https?$/i.test(scheme) && isHost(authority) ? `${scheme}://${authority}/…` : "…";
}

/** Foreign text, printable and short, without a query, which may hold parameters, and without user information. */
function show(text: string): string {
  const shown = withoutUser(text.replace(/[?#].*$/s, "?…")).replace(/[^\x21-\x7e…]/g, "?");
  return shown.length <= longestShown ? shown : `${shown.slice(0, longestShown)}…`;
}

function withoutUser(text: string): string {
  const at = text.lastIndexOf("@");
  return at === -1 ? text : `…${text.slice(at)}`;
}
