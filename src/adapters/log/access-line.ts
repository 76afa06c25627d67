import { hasUnknownEffect, type RequestFinished } from "../../model/events.ts";

type RequestLevel = "error" | "warn" | "info";

/**
 * An operator has to act on an unknown effect. A 4xx or 5xx of the service passes like any answer, but an order did not
 * succeed: where all get 404, the path in baseUrl is wrong, and no caller can correct it.
 */
export function levelOf(event: RequestFinished): RequestLevel {
  if (hasUnknownEffect(event)) return "error";
  const { code, by, status } = event;
  const isServiceTrouble = by === "service" && status >= 400;
  return code !== undefined || isServiceTrouble ? "warn" : "info";
}

/** `create_order for S1000000001: 502 upstream_unreachable (ECONNREFUSED), not_sent` */
export function describeRequest(event: RequestFinished): string {
  const { site, status, code, cause, outcome, attempts, retryReason, callerLeft } = event;
  const whom = site === undefined ? "" : ` for ${site}`;
  const why = cause === undefined ? "" : ` (${cause})`;
  const retried = attempts > 1 ? `, ${attempts} attempts` : "";
  const notRetried = retryReason === undefined ? "" : `, no retry (${retryReason})`;
  const left = callerLeft ? ", caller left" : "";
  return `${whatOf(event)}${whom}: ${status}${nameOf(code, event)}${why}, ${outcome}${retried}${notRetried}${left}`;
}

/** The operation; before one is known, method and target. */
function whatOf({ operation, method, target }: RequestFinished): string {
  if (operation !== undefined) return operation;
  if (method === undefined) return "request without a head";
  return target === undefined ? method : `${method} ${target}`;
}

/** The failure's code, or who gave an answer that looks like one of ours. */
function nameOf(code: string | undefined, { by, status }: RequestFinished): string {
  if (code !== undefined) return ` ${code}`;
  return by === "service" && status >= 400 ? " from the service" : "";
}

/**
 * The access line: what pino would write, put together in one go, since it comes with every request.
 * @param time ISO 8601
 */
export function writeAccessLine(event: RequestFinished, level: RequestLevel, time: string): string {
  const { upstreamHeaders } = event;
  return (
    `{"level":"${level}","time":"${time}","event":"request_finished"` +
    text(',"environment":', event.environment) +
    text(',"requestId":', event.requestId) +
    text(',"traceId":', event.traceId) +
    text(',"spanId":', event.spanId) +
    text(',"reference":', event.reference) +
    text(',"site":', event.site) +
    text(',"auth":', event.auth) +
    text(',"operation":', event.operation) +
    `,"status":${event.status},"by":"${event.by}","outcome":"${event.outcome}"` +
    text(',"code":', event.code) +
    text(',"stage":', event.stage) +
    `,"attempts":${event.attempts}` +
    text(',"retry":', event.retry) +
    text(',"retryReason":', event.retryReason) +
    milliseconds(',"durationMs":', event.durationMs) +
    milliseconds(',"upstreamMs":', event.upstreamMs) +
    milliseconds(',"overheadMs":', event.overheadMs) +
    (event.callerLeft ? ',"callerLeft":true' : "") +
    text(',"method":', event.method) +
    text(',"target":', event.target) +
    text(',"listener":', event.listener) +
    text(',"caller":', event.caller) +
    text(',"callerAddress":', event.callerAddress) +
    text(',"callerRequestId":', event.callerRequestId) +
    integer(',"requestBytes":', event.requestBytes) +
    milliseconds(',"tokenWaitMs":', event.tokenWaitMs) +
    text(',"credential":', event.credential) +
    text(',"key":', event.key) +
    text(',"bridged":', event.bridged) +
    text(',"callerSignature":', event.callerSignature) +
    text(',"once":', event.once) +
    text(',"onceFirst":', event.onceFirst) +
    milliseconds(',"connectMs":', event.connectMs) +
    (upstreamHeaders === undefined ? "" : `,"upstreamHeaders":${JSON.stringify(upstreamHeaders)}`) +
    text(',"cause":', event.cause) +
    integer(',"responseBytes":', event.responseBytes) +
    `,"message":${quote(describeRequest(event))}}\n`
  );
}

/** A field, or nothing where it has no value. */
function text(name: string, value: string | undefined): string {
  return value === undefined ? "" : name + quote(value);
}

function integer(name: string, value: number | undefined): string {
  return value === undefined ? "" : name + value;
}

function milliseconds(name: string, value: number | undefined): string {
  return value === undefined ? "" : name + roundToMicroseconds(value);
}

/** Rounded as in every line. */
export function roundToMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** A JSON string (RFC 8259 section 7). Most texts have nothing to escape. */
function quote(value: string): string {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff))
      return JSON.stringify(value);
  }
  return `"${value}"`;
}
