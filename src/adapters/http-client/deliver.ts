import type { Dispatcher } from "undici";
import type { ApplicationResponse, Deliver } from "../../callbacks/application.ts";
import type { HeaderLines } from "../../http/headers.ts";
import type { Cancel, Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import { codeOf } from "./transport-error.ts";
import type { Pool } from "./undici-pool.ts";

type Controller = Dispatcher.DispatchController;

/** The service reads a status, and a few words at most. */
const longestBodyBytes = 65_536;

/** Hands callbacks to an application, each on a connection of its own: none meets one that is about to close. */
export function createDeliver(pool: Pool, clock: Clock): Deliver {
  return ({ method, target, headers, body }, deadlineMs) =>
    new Promise((resolve, reject) => {
      const exchange = new Exchange(deadlineMs, clock, resolve, reject);
      try {
        const content = method === "GET" ? null : body;
        pool.dispatch({ method, path: target, headers: [...headers], body: content, reset: true }, exchange);
      } catch (error) {
        exchange.onResponseError(undefined, error);
      }
    });
}

/** One callback and its answer, as undici's handler. It knows whether a byte was written. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (response: ApplicationResponse) => void;
  readonly #reject: (error: ProxyError) => void;
  readonly #cancelDeadline: Cancel;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #controller: Controller | undefined;
  #settleBody:
    | { readonly resolve: (body: Uint8Array) => void; readonly reject: (error: ProxyError) => void }
    | undefined;
  #hasEnded = false;

  constructor(
    deadlineMs: number,
    clock: Clock,
    resolve: (response: ApplicationResponse) => void,
    reject: (error: ProxyError) => void,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#cancelDeadline = clock.after(deadlineMs - clock.nowMs(), () => {
      const outcome = this.#controller === undefined ? "not_sent" : "unknown";
      this.#fail(new ProxyError("application_timeout", "The application gave no whole answer in time.", { outcome }));
    });
  }

  /** The connection is ready; what follows this call is written. */
  onRequestStart(controller: Controller): void {
    if (this.#hasEnded) throw new Error("ended before it was written");
    this.#controller = controller;
  }

  onResponseStart(controller: Controller, status: number): void {
    if (status < 200) return;
    const body = new Promise<Uint8Array>((resolve, reject) => {
      this.#settleBody = { resolve, reject };
    });
    // An answer that breaks before it is read fails its reader later. It must not end the process.
    body.catch(() => {});
    this.#resolve({ status, headers: toText(controller.rawHeaders), body });
  }

  onResponseData(_: Controller, piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length <= longestBodyBytes) this.#pieces.push(piece);
    else this.#fail(failed(`The application's answer is longer than ${longestBodyBytes} bytes.`, "answer too long"));
  }

  onResponseEnd(): void {
    if (this.#end()) this.#settleBody?.resolve(Buffer.concat(this.#pieces));
  }

  onResponseError(_: Controller | undefined, error: unknown): void {
    const code = codeOf(error);
    this.#fail(
      this.#controller === undefined
        ? new ProxyError("application_unreachable", "No connection to the application.", { causedBy: code })
        : failed("The application's answer is not whole, or is not HTTP/1.1.", code),
    );
  }

  #fail(error: ProxyError): void {
    if (!this.#end()) return;
    if (this.#settleBody === undefined) this.#reject(error);
    else this.#settleBody.reject(error);
    this.#controller?.abort(new Error("ended"));
  }

  /** @returns false where it had ended */
  #end(): boolean {
    if (this.#hasEnded) return false;
    this.#hasEnded = true;
    this.#cancelDeadline();
    return true;
  }
}

function failed(what: string, causedBy: string): ProxyError {
  return new ProxyError("application_failed", what, { causedBy });
}

/** Undici's flat list of names and values; bytes are read as Latin-1. */
function toText(lines: unknown): HeaderLines {
  if (!Array.isArray(lines)) return [];
  return lines.map((text: string | Uint8Array) =>
    typeof text === "string" ? text : Buffer.from(text).toString("latin1"),
  );
}
