import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { headerLines } from "../../http/headers.ts";
import type { Cancel, Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../proxy/messages.ts";
import { showHidden } from "./response-heads.ts";
import { explainTransportError } from "./transport-error.ts";

/** A stamp older than this when the connection is ready is made anew, so it is never more than 1 s old (row 20). */
const staleStampMs = 500;

type Controller = Dispatcher.DispatchController;

/**
 * One request on its way, as undici's handler: it knows from the first callback on that bytes were written, ends at
 * its deadline wherever it is, and turns every foreign error into a ProxyError with an outcome.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  /** Handed to undici by reference and, if the stamp went stale, filled anew before it is written. */
  readonly bytes: Buffer;
  readonly answer: Promise<UpstreamResponse>;
  readonly #outgoing: UpstreamRequest;
  readonly #clock: Clock;
  readonly #renderedAtMs: number;
  readonly #cancelDeadline: Cancel;
  readonly #onConnected: () => void;
  #resolve: (answer: UpstreamResponse) => void = () => {};
  #reject: (error: ProxyError) => void = () => {};
  #controller: Controller | undefined;
  #body: Readable | undefined;
  #ended: ProxyError | "complete" | undefined;

  constructor(outgoing: UpstreamRequest, deadlineMs: number, clock: Clock, onConnected: () => void) {
    this.#outgoing = outgoing;
    this.#onConnected = onConnected;
    this.#clock = clock;
    this.#renderedAtMs = clock.nowMs();
    this.bytes = Buffer.from(outgoing.render());
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#cancelDeadline = clock.after(deadlineMs - clock.nowMs(), () => this.#timeOut());
  }

  /** The connection is ready; whatever follows this call is written. */
  onRequestStart(controller: Controller): void {
    if (this.#ended !== undefined) throw new Error("ended before it was written");
    if (this.#controller !== undefined) throw new Error("an attempt is written once");
    if (this.#clock.nowMs() - this.#renderedAtMs >= staleStampMs) this.#restamp();
    this.#controller = controller;
    this.#onConnected();
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
    // An answer that breaks before anyone reads it is told to its reader, not to the process.
    body.on("error", () => {});
    // Raw lines, so that the client gets the service's own casing, order and repetitions.
    const raw = controller.rawHeaders;
    const headers = showHidden(status, Array.isArray(raw) ? headerLines(raw) : []);
    this.#resolve({ status, headers, body, discard: () => void body.destroy() });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#end("complete");
    this.#body?.push(null);
  }

  onResponseError(_controller: Controller | undefined, error: unknown): void {
    this.#fail(explainTransportError(error, this.#controller !== undefined));
  }

  #timeOut(): void {
    const wasWritten = this.#controller !== undefined;
    const where = this.#body === undefined ? "No answer came" : "The answer was not complete";
    const detail = wasWritten ? `${where} in time.` : "No connection to the service was ready in time.";
    const causedBy = !wasWritten ? "no connection" : this.#body === undefined ? "no answer" : "incomplete answer";
    this.#fail(new ProxyError("upstream_timeout", detail, { outcome: wasWritten ? "unknown" : "not_sent", causedBy }));
    this.#controller?.abort(new Error("deadline"));
  }

  /** The reader of the answer went away. */
  #abandon(): void {
    if (this.#ended !== undefined) return;
    this.#end(new ProxyError("upstream_reset", "The answer was not read to its end.", { causedBy: "not read" }));
    this.#controller?.abort(new Error("abandoned"));
  }

  #fail(error: ProxyError): void {
    if (this.#ended !== undefined) return;
    this.#end(error);
    if (this.#body === undefined) this.#reject(error);
    else this.#body.destroy(error);
  }

  #end(how: ProxyError | "complete"): void {
    this.#ended = how;
    this.#cancelDeadline();
  }

  #restamp(): void {
    const fresh = this.#outgoing.render();
    if (fresh.length !== this.bytes.length) throw new Error("a new stamp must not change the length");
    this.bytes.set(fresh);
  }
}
