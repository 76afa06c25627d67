import { Readable } from "node:stream";
import { formatFieldLines } from "../../http/field-line.ts";
import { firstOf, type HeaderLines, valuesOf } from "../../http/headers.ts";
import { ProxyError } from "../../model/errors.ts";
import type { UpstreamResponse } from "../../serving/messages.ts";
import { explainTransportError } from "./transport-error.ts";

/** A streaming body is read ahead by this much: two full reads. */
const streamBufferBytes = 131_072;

/** A request to write, without the header lines of its connection. */
export interface HttpRequest {
  /** Default: POST. */
  readonly method?: string;
  readonly path: string;
  readonly headers: HeaderLines;
  /** Makes the body when a connection is ready. Absent: there is none. */
  readonly render?: (() => string | Uint8Array) | undefined;
}

/** How an attempt is watched and ended. */
export interface AttemptControl {
  /** As in Send. */
  readonly onConnected?: (() => void) | undefined;
  readonly onLongHead?: ((bytes: number) => void) | undefined;
  /** How long a response that streams may pause. Its deadline is then over, once its head has come. */
  readonly idleMs?: number;
  /** Ends the attempt at any point, with the signal's reason as the error. It lives no longer than the request. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a request once: nothing is repeated, and no redirect followed.
 * @param pool where the request waits for a connection
 * @param deadlineMs on the monotonic clock; it covers the connection, the head and the body of the response
 * @throws ProxyError upstream_unreachable, upstream_reset, upstream_bad_response, upstream_timeout; so does reading the body
 */
export function exchange(
  pool: { add(attempt: Attempt): void },
  request: HttpRequest,
  deadlineMs: number,
  control: AttemptControl = {},
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    const attempt = new Attempt(request, deadlineMs, control, resolve, reject);
    pool.add(attempt);
    const { signal } = control;
    if (signal === undefined) return;
    const abort = () => attempt.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}

export interface AttemptHolder {
  /** Gives the attempt up; nobody reads its response, or the rest of it. */
  abandon(attempt: Attempt): void;
}

/**
 * One request that is being sent, from its wait for a connection to the end of its response. It knows whether a byte was
 * written, and turns every foreign error into a ProxyError with an outcome.
 */
export class Attempt {
  readonly deadlineMs: number;
  /** The pool while the attempt waits, then its connection; undefined once it has failed. */
  holder: AttemptHolder | undefined;
  readonly #request: HttpRequest;
  readonly #control: AttemptControl;
  readonly #resolve: (response: UpstreamResponse) => void;
  readonly #reject: (error: unknown) => void;
  #wasWritten = false;
  /** The body of a response that streams. */
  #body: Readable | undefined;

  constructor(
    request: HttpRequest,
    deadlineMs: number,
    control: AttemptControl,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.deadlineMs = deadlineMs;
    this.#request = request;
    this.#control = control;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get method(): string | undefined {
    return this.#request.method;
  }

  /** As in AttemptControl. */
  get idleMs(): number | undefined {
    return this.#control.idleMs;
  }

  /** As in Send. */
  onLongHead(bytes: number): void {
    this.#control.onLongHead?.(bytes);
  }

  get requestId(): string | undefined {
    return firstOf(this.#request.headers, "x-request-id");
  }

  /** A caller may send several, and the service may repeat any of them. */
  hasRequestId(id: string): boolean {
    return valuesOf(this.#request.headers, "x-request-id").includes(id);
  }

  get hasResponse(): boolean {
    return this.#body !== undefined;
  }

  /**
   * Called when a connection is ready, which then writes the message. The message is made now, so its timestamp is never old.
   * @param authority the value of Host
   * @param isLast whether the connection ends after this request
   * @throws the errors of the request's own functions
   */
  write(authority: string, isLast: boolean): string | Buffer {
    this.#control.onConnected?.();
    const message = formatRequest(authority, this.#request, isLast);
    this.#wasWritten = true;
    return message;
  }

  /** The response is whole. */
  respond(status: number, headers: readonly string[], body: Uint8Array): void {
    this.#resolve({ status, headers, body, discard: nothing });
  }

  /**
   * The response has begun; the body follows by `push` and `end`.
   * @param resume called when the reader of the body wants more
   */
  respondStreaming(status: number, headers: readonly string[], resume: () => void): void {
    const body = new Readable({
      highWaterMark: streamBufferBytes,
      read: resume,
      destroy: (error, done) => {
        this.holder?.abandon(this);
        done(error);
      },
    });
    // A response that breaks before it is read fails its reader later. It must not end the process.
    body.on("error", () => {});
    this.#body = body;
    this.#resolve({ status, headers, body, discard: () => void body.destroy() });
  }

  /** @returns whether the reader takes more now */
  push(piece: Uint8Array): boolean {
    return this.#body?.push(piece) ?? false;
  }

  end(): void {
    this.#body?.push(null);
  }

  /** @param error of the transport; only its code is repeated */
  fail(error: unknown): void {
    this.#failWith(explainTransportError(error, this.#wasWritten));
  }

  /** The request's message could not be made. */
  failBeforeWriting(error: unknown): void {
    this.#failWith(error);
  }

  /** @param reason the error of the attempt */
  abort(reason: unknown): void {
    const { holder } = this;
    this.#failWith(reason);
    holder?.abandon(this);
  }

  timeOut(): void {
    const [detail, outcome, causedBy] = !this.#wasWritten
      ? (["No connection to the service was ready in time.", "not_sent", "no connection"] as const)
      : this.#body === undefined
        ? (["No answer came in time.", "unknown", "no answer"] as const)
        : this.idleMs === undefined
          ? (["The answer was not complete in time.", "unknown", "incomplete answer"] as const)
          : (["The answer stood still for too long.", "unknown", "incomplete answer"] as const);
    this.#failWith(new ProxyError("upstream_timeout", detail, { outcome, causedBy }));
  }

  #failWith(error: unknown): void {
    this.holder = undefined;
    if (this.#body === undefined) this.#reject(error);
    else this.#body.destroy(error as Error);
  }
}

const forbiddenInPath = /[^\x21-\x7e]/;

/**
 * A request's whole message, head and body: a string in Latin-1 if the body is ASCII, which needs no buffer, else bytes.
 * @throws Error if a line could be read as two; requests were checked before, so that is a defect
 */
function formatRequest(
  authority: string,
  { method = "POST", path, headers, render }: HttpRequest,
  isLast: boolean,
): string | Buffer {
  const lines = formatFieldLines(headers);
  if (lines === undefined || forbiddenInPath.test(path)) throw new Error("a character that ends a line");
  const connection = isLast ? "close" : "keep-alive";
  const start = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: ${connection}\r\n${lines}`;
  if (render === undefined) return `${start}\r\n`;
  const body = render();
  const bodyBytes = Buffer.byteLength(body);
  const head = `${start}content-length: ${bodyBytes}\r\n\r\n`;
  if (typeof body === "string" && bodyBytes === body.length) return head + body;
  const message = Buffer.allocUnsafe(head.length + bodyBytes);
  message.write(head, "latin1");
  if (typeof body === "string") message.write(body, head.length);
  else message.set(body, head.length);
  return message;
}

function nothing(): void {}
