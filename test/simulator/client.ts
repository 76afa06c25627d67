import { type IncomingHttpHeaders, type RequestOptions, request } from "node:http";
import { request as requestTls } from "node:https";
import { connect } from "node:net";
import { signatureOf } from "../promises/callbacks/sender.ts";

/** An answer as a plain client sees it. */
export interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The error that ended the answer early: `read ECONNRESET` for an RST, `ECONNRESET` alone for a mere close. */
  readonly error: string | undefined;
}

export interface Sending extends RequestOptions {
  readonly body?: string | Buffer;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Called at the first bytes of the answer's body. */
  readonly onFirstBytes?: () => void;
}

/** Sends one request on a new connection and never rejects: an error is a result. */
export function send(url: string, { body = "", onFirstBytes, ...options }: Sending = {}): Promise<Received> {
  return new Promise((resolve) => {
    const start = url.startsWith("https:") ? requestTls : request;
    let head: Pick<Received, "status" | "headers"> = { status: undefined, headers: {} };
    let text = "";
    const end = (error?: NodeJS.ErrnoException) => resolve({ ...head, body: text, error: error && nameOf(error) });
    const outgoing = start(url, { method: "POST", agent: false, ...options }, (response) => {
      head = { status: response.statusCode, headers: response.headers };
      response.setEncoding("latin1");
      response.on("data", (chunk: string) => {
        text += chunk;
        onFirstBytes?.();
      });
      response.on("end", () => end());
      response.on("error", end);
    });
    outgoing.on("error", end);
    outgoing.end(body);
  });
}

export function sendJson(url: string, value: unknown, headers: Record<string, string> = {}): Promise<Received> {
  return send(url, { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) });
}

/** Writes bytes to a bare connection, and collects everything that comes back until its end, and the error that ended it. */
export function sendBytes(url: string, bytes: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const ended = new Promise<{ text: string; error: string | undefined }>((resolve) => {
    let text = "";
    let error: string | undefined;
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", (reason) => {
      error = nameOf(reason);
    });
    socket.on("close", () => resolve({ text, error }));
  });
  socket.write(bytes, "latin1");
  return { socket, ended };
}

function nameOf({ syscall, code }: NodeJS.ErrnoException): string {
  return [syscall, code].filter(Boolean).join(" ");
}

/** The parameters with their signature by spec 5.2. */
export function signed(parameters: Record<string, string>, secret: string) {
  return { ...parameters, signature: signatureOf(parameters, secret) };
}
