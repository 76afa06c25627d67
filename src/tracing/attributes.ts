import type { Address } from "../model/environment.ts";
import type { RequestFinished, TokenEvent } from "../model/events.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import type { Attributes } from "./span.ts";

export type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;

/** Those that OpenTelemetry's conventions for HTTP know; any other is `_OTHER`. */
const knownMethods: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE", "QUERY"],
]);

/** What stands in a span's name comes from the configuration, so that there are few names. */
export function nameOfRequest({ method, operationLabel }: RequestFinished): string {
  const verb = method !== undefined && knownMethods.has(method) ? method : "HTTP";
  const route = routeOf(operationLabel);
  return route === undefined ? verb : `${verb} ${route}`;
}

/** Of a pass-through route the label is a path. */
export function routeOf(operationLabel: string): string | undefined {
  if (operationLabel === "none" || operationLabel === "other") return undefined;
  return operationLabel.startsWith("/") ? operationLabel : `/${operationLabel}`;
}

export function attributesOfRequest(event: RequestFinished, listener: ListenerContext): Attributes {
  const isKnown = event.method === undefined || knownMethods.has(event.method);
  return {
    "http.request.method": isKnown ? event.method : "_OTHER",
    "http.request.method_original": isKnown ? undefined : event.method,
    "http.route": routeOf(event.operationLabel),
    "url.scheme": listener.url.startsWith("https:") ? "https" : "http",
    "url.path": pathOf(event, listener.environment.baseUrl),
    ...serverOf(listener),
    "http.response.status_code": event.status,
    "error.type": isFailure(event) ? (event.code ?? String(event.status)) : undefined,
    "client.address": event.callerAddress,
    "http.request.body.size": event.requestBytes,
    "http.response.body.size": event.responseBytes,
    "countersign.environment": event.environment,
    "countersign.request_id": event.requestId,
    "countersign.reference": event.reference,
    "countersign.listener": event.listener,
    "countersign.caller": event.caller,
    "countersign.site": event.site,
    "countersign.auth": event.auth,
    "countersign.operation": event.operation,
    "countersign.outcome": event.outcome,
    "countersign.answered_by": event.by,
    "countersign.code": event.code,
    "countersign.cause": event.cause,
    "countersign.stage": event.stage,
    "countersign.attempts": event.attempts,
  };
}

/** The log shows no path of a URL, since that may be another service's. Where an operation was found, it is its path. */
function pathOf({ target, operation }: RequestFinished, baseUrl: Address): string | undefined {
  if (target === undefined || target.startsWith("/")) return target;
  return operation === undefined ? "/…" : `${baseUrl.path}/${operation}`;
}

const boundTo = /^(?:unix:(?<path>.+)|\[?(?<host>[^\]]*)\]?:(?<port>\d+))$/;

/** Where the listener is, as configured: every address is `0.0.0.0`, and a Unix socket its path. */
function serverOf({ listener = "" }: ListenerContext): Attributes {
  const { path, host, port } = boundTo.exec(listener)?.groups ?? {};
  if (path !== undefined) return { "server.address": path };
  if (port === undefined) return {};
  return { "server.address": host === "" ? "0.0.0.0" : host, "server.port": Number(port) };
}

/** A 4xx is the caller's error, not the server's; an answer that was cut short is a failure whatever its status says. */
export function isFailure({ status, code, by }: RequestFinished): boolean {
  return status >= 500 || (code !== undefined && by === "service");
}

/** A request that is sent. The path has no query: the service takes none (spec 9), nor does a token endpoint. */
export function attributesOfPost({ origin, host, port }: Address, path: string): Attributes {
  return {
    "http.request.method": "POST",
    "url.full": `${origin}${path}`,
    "server.address": host,
    "server.port": port,
  };
}

export function attributesOfTokenRequest(event: TokenRequested): Attributes {
  return {
    "http.response.status_code": event.status,
    "error.type": event.result === "issued" ? undefined : event.result,
    "countersign.environment": event.environment,
    "countersign.credential": event.credential,
    "countersign.token_result": event.result,
    "countersign.token_reason": event.reason,
    "countersign.cause": event.cause,
  };
}
