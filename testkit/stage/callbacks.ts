import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Dependencies } from "../../src/app/dependencies.ts";
import type { CallbackListenerConfig, Config } from "../../src/config/config.ts";
import { addressOf } from "../address.ts";
import { noTls } from "../certificates.ts";
import { headerPairs } from "../header-pairs.ts";
import { listen } from "../listen.ts";
import { startStage } from "./start.ts";

/** A callback as the application got it. */
export interface Received {
  readonly method: string;
  readonly target: string;
  /** Names in lower case; as received. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

type Answer = (response: ServerResponse, received: Received) => void;

export const accepts: Answer = (response) => void response.writeHead(200, { "content-type": "text/plain" }).end("OK");

/** The application: it records what reaches it, and answers as the test says. */
export interface Application {
  readonly url: string;
  readonly received: readonly Received[];
  /** All answers from now on. */
  answerWith(answer: Answer): void;
  /** Refuses connections from now on. */
  stop(): Promise<void>;
  /** Accepts connections again, at the same address. */
  restart(): Promise<void>;
}

export async function startApplication(path = "/callbacks"): Promise<Application> {
  const received: Received[] = [];
  let answer = accepts;
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url = "", rawHeaders } = request;
    const one = { method, target: url, headers: headerPairs(rawHeaders), body: Buffer.concat(chunks) };
    received.push(one);
    answer(response, one);
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => {}));
  let port = 0;
  const listen = async () => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    ({ port } = server.address() as AddressInfo);
  };
  await listen();
  const stop = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${port}${path}`,
    received,
    answerWith(given) {
      answer = given;
    },
    stop,
    restart: listen,
  };
}

export interface CallbackOptions {
  readonly listener?: Partial<CallbackListenerConfig>;
  readonly timeoutMs?: number;
  readonly config?: Partial<Config>;
  readonly surroundings?: Partial<Dependencies>;
  readonly path?: string;
}

/** A listener for callbacks, and the application behind it. */
export async function callbacks(options: CallbackOptions = {}) {
  const application = await startApplication(options.path);
  const listener: CallbackListenerConfig = {
    bind: { kind: "tcp", host: "127.0.0.1", port: 0 },
    environment: "sandbox",
    application: { url: addressOf(application.url), timeoutMs: options.timeoutMs ?? 5_000, tls: noTls },
    exempt: new Set(["format", "signature", "call"]),
    rememberMs: 604_800_000,
    replay: "strict",
    ...options.listener,
  };
  const { surroundings = {} } = options;
  const staged = await startStage({ surroundings, config: { callbacks: [listener], ...options.config } });
  const [bind] = staged.proxy.binds.callbacks;
  return {
    ...staged,
    application,
    /** The port of the listener for callbacks. */ callbackPort: bind?.kind === "tcp" ? bind.port : 0,
  };
}

/** The same before an application that is a bare socket, played by the test. */
export async function application(
  serve: (socket: Socket) => void,
  { scheme = "http", timeoutMs = 5_000 }: { readonly scheme?: string; readonly timeoutMs?: number } = {},
) {
  const port = await listen(createTcpServer((socket) => serve(socket.on("error", () => {}))));
  const bare = { url: addressOf(`${scheme}://127.0.0.1:${port}/callbacks`), timeoutMs, tls: noTls };
  return callbacks({ listener: { application: bare } });
}

/** Answers each connection with these bytes, and ends the connection. */
export const answering = (bytes: string) => (socket: Socket) => void socket.once("data", () => socket.end(bytes));
