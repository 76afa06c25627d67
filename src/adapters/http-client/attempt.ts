import { Readable } from "node:stream";
import type { Dispatcher, Pool } from "undici";
import type { HeaderLines } from "../../http/headers.ts";
import type { Cancel, Clock } from "../../model/clock.ts";
import type { Environment } from "../../model/environment.ts";
import { ProxyError } from "../../model/errors.ts";
import type { Send, UpstreamRequest, UpstreamResponse } from "../../proxy/messages.ts";
import { showHidden } from "./response-heads.ts";
import { explainTransportError } from "./transport-error.ts";

/** A stamp older than this when the connection is ready is made anew, so it is never more than 1 s old (row 20). */
const staleStampMs = 500;

type Controller = Dispatcher.DispatchController;

/**
 * Sends by `dispatch`, which, unlike fetch and the retry agents, never repeats and never redirects.
 * @param poolOf the pool of an environment's baseUrl
 */
export function createSend(poolOf: (environment: Environment) => Pool, clock: Clock): Send {
  return (request, deadlineMs, onConnected) =>
    new Promise((resolve, reject) => {
      const attempt = new Attempt(request, deadlineMs, clock, { onConnected, resolve, reject });
      const { environment, path, headers } = request;
      const options: Dispatcher.DispatchOptions = { method: "POST", path, headers: [...headers], body: attempt.bytes };
      try {
        poolOf(environment).dispatch(options, attempt);
      } catch (error) {
        attempt.onResponseError(undefined, error);
      }
    });
}

/** What an attempt calls. */
interface Callbacks {
  /** A connection is ready, and no byte is written yet. */
  readonly onConnected: () => void;
  readonly resolve: (response: UpstreamResponse) => void;
  readonly reject: (error: ProxyError) => void;
}

/**
 * One request that is being sent, as undici's handler. It knows from the first callback on that bytes were written, ends at
 * its deadline in any state, and turns every foreign error into a ProxyError with an outcome.
 */
class Attempt implements Dispatcher.DispatchHandler {
  /** Handed to undici by reference and, if the stamp went stale, filled anew before it is written. */
  readonly bytes: Buffer;
  readonly #request: UpstreamRequest;
  readonly #clock: Clock;
  readonly #renderedAtMs: number;
  readonly #cancelDeadline: Cancel;
  readonly #callbacks: Callbacks;
  #controller: Controller | undefined;
  #body: Readable | undefined;
  #hasEnded = false;

  constructor(request: UpstreamRequest, deadlineMs: number, clock: Clock, callbacks: Callbacks) {
    this.#request = request;
    this.#clock = clock;
    this.#callbacks = callbacks;
    this.#renderedAtMs = clock.nowMs();
    this.bytes = Buffer.from(request.render());
    this.#cancelDeadline = clock.after(deadlineMs - clock.nowMs(), () => this.#timeOut());
  }

  /** The connection is ready; what follows this call is written. */
  onRequestStart(controller: Controller): void {
    if (this.#hasEnded) throw new Error("ended before it was written");
    if (this.#controller !== undefined) throw new Error("an attempt is written once");
    if (this.#clock.nowMs() - this.#renderedAtMs >= staleStampMs) this.#restamp();
    this.#controller = controller;
    this.#callbacks.onConnected();
  }

  onResponseStart(controller: Controller, status: number): void {
    if (status < 200) return;
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        this.#abandon();
        done(error);
      },
    });
    this.#body = body;
    // A response that breaks before it is read fails its reader later. It must not end the process.
    body.on("error", () => {});
    // Raw lines, so that the client gets the service's own casing, order and repetitions.
    const headers = showHidden(status, toText(controller.rawHeaders));
    this.#callbacks.resolve({ status, headers, body, discard: () => void body.destroy() });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#end();
    this.#body?.push(null);
  }

  onResponseError(_controller: Controller | undefined, error: unknown): void {
    this.#fail(explainTransportError(error, this.#controller !== undefined));
  }

  #timeOut(): void {
    const [detail, outcome, causedBy] =
      this.#controller === undefined
        ? (["No connection to the service was ready in time.", "not_sent", "no connection"] as const)
        : this.#body === undefined
          ? (["No answer came in time.", "unknown", "no answer"] as const)
          : (["The answer was not complete in time.", "unknown", "incomplete answer"] as const);
    this.#fail(new ProxyError("upstream_timeout", detail, { outcome, causedBy }));
    this.#controller?.abort(new Error("deadline"));
  }

  /** The reader of the response has left. */
  #abandon(): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#controller?.abort(new Error("abandoned"));
  }

  #fail(error: ProxyError): void {
    if (this.#hasEnded) return;
    this.#end();
    if (this.#body === undefined) this.#callbacks.reject(error);
    else this.#body.destroy(error);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#cancelDeadline();
  }

  #restamp(): void {
    const fresh = Buffer.from(this.#request.render());
    if (fresh.length !== this.bytes.length) throw new Error("a new stamp must not change the length");
    this.bytes.set(fresh);
  }
}

/** Undici's flat list of names and values; bytes are read as Latin-1. */
function toText(lines: unknown): HeaderLines {
  if (!Array.isArray(lines)) return [];
  return lines.map((text: string | Uint8Array) =>
    typeof text === "string" ? text : Buffer.from(text).toString("latin1"),
  );
}
