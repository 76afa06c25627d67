import type { Address, Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { listNames, nearestName } from "../model/names.ts";
import type { ListenerContext } from "../serving/messages.ts";
import { foreign, originPath, show, type Target } from "../serving/target.ts";

/** One or more segments of plain characters, with nothing that a server could decode, collapse or resolve. */
const operationPath = /^(?:\/[A-Za-z0-9_-]+)+$/;

/**
 * The operation that a request target calls. Its authority must be checked first.
 * @param host the request's only Host value; its name is checked in origin-form only (RFC 9112 section 3.2)
 * @throws ProxyError query_not_allowed, target_not_allowed
 */
export function resolveTarget(target: Target, host: string, listener: ListenerContext): string {
  const path = target.scheme === undefined ? originPath(target, host, listener) : absolutePath(target, listener);
  if (path.includes("?")) {
    const what =
      "The target has a query string. Countersign takes the parameters of every version from the JSON body alone; " +
      "from version 3.0 on the service does, too (spec 9). Write them into the body.";
    throw new ProxyError("query_not_allowed", what, { causedBy: "query" });
  }
  if (operationPath.test(path)) return path.slice(1);
  const causedBy = explainPath(path);
  const what = `The path ${show(target.text)} is not an operation: it ${causedBy}.`;
  throw new ProxyError("target_not_allowed", `${what}${suggest(path, listener.environment)}`, { causedBy });
}

/** The operation's path in a URL, as a caller that uses HTTP_PROXY sends it (RFC 9112 section 3.2.2). */
function absolutePath({ text, authority, path = "" }: Target, { environment }: ListenerContext): string {
  if (authority?.includes("@")) {
    const what = "The request target carries user information.";
    throw new ProxyError("target_not_allowed", what, { causedBy: "user information" });
  }
  const base = environment.baseUrl.path;
  if (path.startsWith(`${base}/`)) return path.slice(base.length);
  throw foreign(`The path of ${show(text)} does not begin with the baseUrl's, ${base}`);
}

/**
 * Even with `["*"]`, an operation that begins with the base path is refused: the base path would be sent twice.
 * @throws ProxyError operation_not_allowed
 */
export function checkOperation(operation: string, environment: Environment): void {
  const { name, operations, baseUrl } = environment;
  const isAllowed =
    operations === "any" ? withoutBasePath(operation, baseUrl) === undefined : operations.has(operation);
  if (isAllowed) return;
  const what = `The operation ${show(operation)} is not in the operations of environment ${name}.`;
  throw new ProxyError("operation_not_allowed", `${what}${suggest(operation, environment)}`);
}

function explainPath(path: string): string {
  if (path === "/") return "is empty";
  if (!/\/(\/|$)/.test(path)) return "may only have segments of A-Z a-z 0-9 _ and -";
  return "has an empty segment (two slashes in a row, or one at the end)";
}

/** Suggests an operation of nearly the same name; a caller that sent the base path is told to leave it out. */
function suggest(path: string, { baseUrl, operations }: Environment): string {
  const operation = withoutBasePath(path, baseUrl);
  const given = operation ?? segmentsOf(path).join("/");
  const known = operations === "any" ? [given].filter((name) => operationPath.test(`/${name}`)) : operations;
  if (given === "oauth/token") return " Countersign gets the tokens itself: call an operation, without one.";
  const meant = nearestName(given, known);
  const added = operation === undefined ? "" : ` Countersign adds the base path ${baseUrl.path} itself: leave it out.`;
  if (meant !== undefined) return `${added} Call /${meant}.`;
  if (operation !== undefined || operations === "any" || operations.size === 0) return added;
  return ` Operations here: ${listNames([...operations])}.`;
}

/** The rest of a path after the baseUrl's path, compared without case; undefined if it does not begin with that path. */
function withoutBasePath(path: string, baseUrl: Address): string | undefined {
  const base = segmentsOf(baseUrl.path.toLowerCase());
  const segments = segmentsOf(path);
  const isBelow = base.length > 0 && base.every((segment, index) => segment === segments[index]?.toLowerCase());
  return isBelow ? segments.slice(base.length).join("/") : undefined;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}
