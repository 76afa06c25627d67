import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import util from "node:util";
import type Server from "http-proxy";
import { type HeaderLines, isFramed } from "../../http/headers.ts";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type {
  BodyStream,
  SendStream,
  StreamControl,
  StreamedRequest,
  StreamedResponse,
} from "../../pass-through/messages.ts";
import { type AgentSettings, type Connecting, ServiceAgent } from "./agent.ts";

/** How requests to one service are sent. */
interface ServiceSettings extends AgentSettings {
  /** The value of Host. */
  readonly authority: string;
  /** The longest head of a response. */
  readonly responseHeaderBytes: number;
  /** Turns an error of the transport into a ProxyError, which depends on whether a byte was written. */
  readonly explain: (error: unknown, wasWritten: boolean) => ProxyError;
}

/** The parts that all exchanges with one service share. */
interface ExchangeParts extends Omit<ServiceSettings, keyof AgentSettings> {
  readonly proxy: Server;
  readonly agent: ServiceAgent;
  readonly clock: Clock;
}

/** The part that is missing in the package's types. */
interface Passes {
  webPasses: ((...given: unknown[]) => unknown)[];
}

/**
 * Loads the package, of which only the step remains that makes and sends a request.
 *
 * - The package copies with `util._extend`, whose first use prints a deprecation on Node 22 and later (DEP0060). It reads that
 *   function when it is loaded, and gets `Object.assign` instead.
 * - Its step `deleteLength` removes the framing of a chunked DELETE, whose body is then read as the next request
 *   (CVE-2026-29057).
 */
export async function loadHttpProxy(): Promise<Server> {
  const extend: unknown = Reflect.get(util, "_extend");
  Reflect.set(util, "_extend", Object.assign);
  const { default: httpProxy } = await import("http-proxy").finally(() => Reflect.set(util, "_extend", extend));
  const server = httpProxy.createProxyServer({});
  const passes = server as unknown as Passes;
  passes.webPasses = passes.webPasses.filter(({ name }) => name === "stream");
  if (passes.webPasses.length !== 1) throw new Error("http-proxy has no step that is called stream");
  return server;
}

/** The connections to one service, for requests whose bodies are passed on. */
export interface StreamPool {
  readonly send: SendStream;
  /** Ends each connection once it has no request. */
  close(): void;
  /** Ends all connections at once. */
  destroy(): void;
}

/** @param proxy from `loadHttpProxy` */
export function openStreamPool(proxy: Server, settings: ServiceSettings, clock: Clock): StreamPool {
  const agent = new ServiceAgent(settings);
  const parts = { ...settings, proxy, agent, clock };
  return {
    send: (request, control) =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange(request, control, parts, resolve, reject);
        // A close that arrives together with the request ends an idle connection before it is used.
        setImmediate(() => exchange.start());
      }),
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  };
}

/** A service that ignores `Expect` gets the body after this time, as from curl (RFC 9110 section 10.1.1). */
const continueMs = 1_000;
const closed = { code: "CONNECTION_CLOSED" };
/** Nothing proves the end of such an answer, as in `http-client/connection.ts`. */
const unframedOverTls = { code: "UNFRAMED_OVER_TLS" };

/**
 * One request through http-proxy, from its wait for a connection to the end of its response. The package makes the request, and
 * the agent connects. The package gets no request or response of Node, but objects that look like them. So it reads, writes, ends
 * and pipes nothing: its faults are there.
 */
class Exchange {
  readonly #given: StreamedRequest;
  readonly #control: StreamControl;
  readonly #parts: ExchangeParts;
  readonly #resolve: (response: StreamedResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #deadline: DeadlineTimer;
  #wait: Wait = "connection";
  #request: ClientRequest | undefined;
  /** The connection that was begun for this request. */
  #connecting: Connecting | undefined;
  /** The response, or the connection that has switched to WebSocket. */
  #answer: IncomingMessage | Duplex | undefined;
  #wasWritten = false;
  #isSendingBody = false;
  /** The request got a 401 before any byte of the body was taken: the next attempt may send the body. */
  #leavesBody = false;
  #hasEnded = false;

  constructor(
    given: StreamedRequest,
    control: StreamControl,
    parts: ExchangeParts,
    resolve: (response: StreamedResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#given = given;
    this.#control = control;
    this.#parts = parts;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = new DeadlineTimer(parts.clock, this.#onDeadline);
  }

  start(): void {
    const { signal } = this.#control;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) {
      this.#onAbort();
      return;
    }
    this.#deadline.set(this.#control.deadlineMs);
    const { proxy, agent, authority } = this.#parts;
    const target = { protocol: "http:", host: authority, hostname: authority, port: "80" };
    const options = { target, agent, toProxy: true, prependPath: false, selfHandleResponse: true };
    try {
      const request = toIncoming(this.#given, authority, (made) => this.#begin(made));
      // Errors come by the request's own events as well.
      this.#connecting = agent.begunBy(() =>
        proxy.web(request, noResponse, options as unknown as Server.ServerOptions, () => {}),
      );
    } catch (error) {
      this.#end();
      this.#reject(error);
    }
  }

  /** http-proxy has made the request; nothing of it is written yet. */
  #begin(request: ClientRequest): void {
    const { path, body } = this.#given;
    this.#request = request;
    // The package collapses slashes in a path, and Node drops an answer's header lines beyond a thousand.
    Object.assign(request, { path, maxHeadersCount: 0, maxHeaderSize: this.#parts.responseHeaderBytes });
    request
      .on("socket", () => this.#onConnected(request))
      .on("response", (response) => this.#respond(response))
      .on("error", (error) => this.#fail(error))
      .on("close", () => {
        if (this.#answer === undefined) this.#fail(closed);
      });
    if (this.#given.upgrades) request.on("upgrade", (response, socket, head) => this.#switch(response, socket, head));
    if (body === undefined) request.end();
    else this.#sendHead(request, body);
  }

  /** Sends the head before the body, so that the service can answer the head alone. */
  #sendHead(request: ClientRequest, body: BodyStream): void {
    // With `Expect`, Node writes the head as UTF-8, which is wrong for bytes other than ASCII.
    if (body.awaitsContinue && this.#given.headers.every((text) => isAscii.test(text))) {
      request.setHeader("expect", "100-continue");
      request.once("continue", () => void this.#sendBody(request, body));
    }
    request.write("", "latin1");
  }

  #onConnected(request: ClientRequest): void {
    if (this.#hasEnded) return;
    this.#control.onConnected();
    this.#wasWritten = true;
    this.#awaitUntil("head", this.#control.deadlineMs);
    const { body } = this.#given;
    if (body === undefined) return;
    const begin = () => void this.#sendBody(request, body);
    if (request.hasHeader("expect")) {
      const cancel = this.#parts.clock.after(continueMs, begin);
      for (const event of ["response", "continue", "close"]) request.once(event, cancel);
    } else {
      begin();
    }
  }

  /** Sends the body, at most once, and stops when the attempt has ended. */
  async #sendBody(request: ClientRequest, body: BodyStream): Promise<void> {
    if (this.#hasEnded || this.#isSendingBody) return;
    this.#isSendingBody = true;
    try {
      body.writeContinue();
      while (!request.destroyed && !this.#leavesBody) {
        const piece = body.take();
        if (piece !== undefined) {
          this.#touch("service");
          if (!request.write(piece)) await drained(request);
        } else if (body.isRead) {
          break;
        } else {
          this.#touch("caller");
          await body.more();
        }
      }
    } catch (error) {
      this.#fail(brokenOff(error));
    }
    if (this.#hasEnded || this.#leavesBody) return;
    if (this.#answer !== undefined) this.#touch("answer");
    else this.#awaitUntil("head", this.#parts.clock.nowMs() + this.#control.headMs);
    request.end();
  }

  #respond(response: IncomingMessage): void {
    // A response that breaks before it is read fails its reader later.
    response.on("error", () => {});
    this.#answer = response;
    const { statusCode: status = 0, httpVersionMajor, rawHeaders: headers, socket } = response;
    if (httpVersionMajor !== 1) this.#fail({ code: "HPE_INVALID_VERSION" });
    if (status < 200) this.#fail({ code: "HPE_INVALID_STATUS" });
    if (this.#hasEnded) response.destroy();
    this.#leavesBody = status === 401 && this.#given.body?.takenBytes === 0;
    this.#touch("answer");
    const isProved = !(socket instanceof TLSSocket) || this.#given.method === "HEAD" || isFramed({ status, headers });
    this.#resolve({ status, headers, body: this.#pieces(response, isProved), discard: () => this.#end() });
  }

  /** @param head the bytes behind the head of the response */
  #switch({ rawHeaders: headers, headers: { upgrade } }: IncomingMessage, socket: Duplex, head: Buffer): void {
    // A connection that breaks before it is used reports that to its user later.
    socket.on("error", () => {});
    this.#answer = socket;
    // No other protocol was requested.
    if (upgrade?.toLowerCase() !== "websocket") this.#fail({ code: "HPE_INVALID_STATUS" });
    if (this.#hasEnded) socket.destroy();
    this.#deadline.close();
    if (head.length > 0) socket.unshift(head);
    this.#resolve({ status: 101, headers, body: new Uint8Array(0), connection: socket, discard: () => this.#end() });
  }

  /** @param isProved whether the end of the answer can be trusted */
  async *#pieces(response: IncomingMessage, isProved: boolean): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const piece of response) {
        // The caller has a time limit of its own to read the piece.
        if (this.#wait === "answer") this.#deadline.clear();
        yield piece;
        this.#touch("answer");
      }
      if (!isProved) throw this.#explain(unframedOverTls);
    } catch (error) {
      throw error instanceof ProxyError || error === this.#control.signal.reason ? error : this.#explain(error);
    } finally {
      this.#end();
    }
  }

  #touch(wait: Wait): void {
    this.#awaitUntil(wait, this.#parts.clock.nowMs() + this.#control.idleMs);
  }

  #awaitUntil(wait: Wait, deadlineMs: number): void {
    this.#wait = wait;
    if (!this.#hasEnded) this.#deadline.set(deadlineMs);
  }

  readonly #onDeadline = (): void => {
    this.#fail(tooLate(this.#wait));
  };

  readonly #onAbort = (): void => {
    this.#fail(this.#control.signal.reason);
  };

  #explain(error: unknown): ProxyError {
    return this.#parts.explain(error, this.#wasWritten);
  }

  /** Ends the exchange by an error; a response that has begun fails with the error. Later calls do nothing. */
  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    const isKnown = error instanceof ProxyError || error === this.#control.signal.reason;
    const reason = isKnown ? (error as Error) : this.#explain(error);
    this.#answer?.destroy(reason);
    this.#end();
    this.#reject(reason);
  }

  /** Ends the connection, unless request and response are complete. */
  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#deadline.close();
    this.#control.signal.removeEventListener("abort", this.#onAbort);
    const request = this.#request;
    const answer = this.#answer;
    const isAnswered = answer !== undefined && "complete" in answer && answer.complete && answer.readableEnded;
    if (isAnswered && request?.writableFinished === true) return;
    answer?.destroy();
    request?.destroy();
    if (this.#wait === "connection") this.#connecting?.destroy();
  }
}

const isAscii = /^[\t -~]*$/;

function drained(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      request.off("drain", go).off("close", go);
      resolve();
    };
    request.on("drain", go).on("close", go);
  });
}

/** What an exchange waits for. */
type Wait = "connection" | "caller" | "service" | "head" | "answer";

const missed: Readonly<Record<Exclude<Wait, "caller">, readonly [what: string, causedBy: string]>> = {
  connection: ["No connection to the service was ready in time.", "no connection"],
  service: ["The service did not take the request's body in time.", "slow service"],
  head: ["No answer came in time.", "no answer"],
  answer: ["The answer stood still for too long.", "incomplete answer"],
};

/** @param wait the exchange's wait at the deadline */
function tooLate(wait: Wait): ProxyError {
  if (wait === "caller") {
    const what = "The rest of the request's body did not come in time.";
    return new ProxyError("body_incomplete", what, { status: 408, causedBy: "body" });
  }
  const [what, causedBy] = missed[wait];
  return new ProxyError("upstream_timeout", what, {
    outcome: wait === "connection" ? "not_sent" : "unknown",
    causedBy,
  });
}

/** @param error from reading the body */
function brokenOff(error: unknown): unknown {
  if (!(error instanceof ProxyError)) return error;
  return new ProxyError("body_incomplete", error.message, { causedBy: error.causedBy });
}

/** http-proxy writes no response here. It only checks whether the response has ended. */
const noResponse = { finished: true } as unknown as ServerResponse;

/**
 * The parts of a request that http-proxy uses: the fields that it copies, and `pipe`.
 * @param onMade gets the request that http-proxy has made, of which nothing is written yet
 */
function toIncoming(given: StreamedRequest, authority: string, onMade: (made: ClientRequest) => void): IncomingMessage {
  const incoming = {
    method: given.method,
    url: given.path,
    headers: headersOf(given, authority),
    socket: { destroyed: false },
    // http-proxy listens for a caller that leaves or sends something wrong. The exchange itself handles both.
    on: () => incoming,
    pipe: onMade,
  };
  return incoming as unknown as IncomingMessage;
}

/** Values of one name are put together: of several fields with one name, Node uses only the last. */
function headersOf(
  { headers, body, upgrades }: StreamedRequest,
  authority: string,
): Record<string, string | string[] | undefined> {
  const lines: HeaderLines = ["host", authority, ...headers, ...framingOf(body), ...switchOf(upgrades)];
  const valuesOf = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (let at = 0; at < lines.length; at += 2) {
    const [name = "", value = ""] = [lines[at], lines[at + 1]];
    const known = valuesOf.get(name.toLowerCase());
    if (known === undefined) valuesOf.set(name.toLowerCase(), { name, values: [value] });
    else known.values.push(value);
  }
  const fields = [...valuesOf.values()].map(
    ({ name, values }) => [name, values.length > 1 ? values : values[0]] as const,
  );
  return Object.fromEntries(fields);
}

/** Each body gets new framing; a request without a body gets none, whatever its method. */
function framingOf(body: BodyStream | undefined): HeaderLines {
  if (body === undefined) return [];
  const { declaredBytes } = body;
  return declaredBytes === undefined ? ["transfer-encoding", "chunked"] : ["content-length", String(declaredBytes)];
}

function switchOf(upgrades: boolean): HeaderLines {
  return upgrades ? ["connection", "Upgrade", "upgrade", "websocket"] : [];
}
