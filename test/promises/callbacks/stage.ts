import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { expect, onTestFinished } from "vitest";
import type { Dependencies } from "../../../src/app/dependencies.ts";
import type { CallbackListenerConfig, Config } from "../../../src/config/config.ts";
import { type FailureCode, failures, type Outcome } from "../../../src/model/errors.ts";
import { addressOf } from "../../../testkit/address.ts";
import { noTls } from "../../../testkit/certificates.ts";
import { headerPairs } from "../../../testkit/header-pairs.ts";
import { listen } from "../../../testkit/listen.ts";
import { ask, type RawAnswer } from "../../../testkit/raw-caller.ts";
import { type Stage, stageProxy } from "../../../testkit/stage.ts";
import { callbackOf, formOf, type Given } from "./sender.ts";

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

export interface CallbackStage extends Stage {
  readonly application: Application;
  /** The port of the listener for callbacks. */
  readonly callbackPort: number;
}

export interface CallbackOptions {
  readonly listener?: Partial<CallbackListenerConfig>;
  readonly timeoutMs?: number;
  readonly config?: Partial<Config>;
  readonly surroundings?: Partial<Dependencies>;
  readonly path?: string;
}

/** The whole proxy in this process with a listener for callbacks, and the application behind it. */
export async function stageCallbacks(options: CallbackOptions = {}): Promise<CallbackStage> {
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
  const stage = await stageProxy({ surroundings, config: { callbacks: [listener], ...options.config } });
  const [bind] = stage.proxy.binds.callbacks;
  return { ...stage, application, callbackPort: bind?.kind === "tcp" ? bind.port : 0 };
}

export interface Sent {
  readonly method?: string;
  readonly target?: string;
  readonly type?: string | undefined;
  readonly body?: string;
  /** More header lines, whole. */
  readonly more?: readonly string[];
}

/** One callback on a connection of its own. */
export function send(port: number, { method = "POST", target = "/hook", type, body = "", more = [] }: Sent) {
  const bytes = Buffer.from(body, "utf8");
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: callbacks.example",
    "Connection: close",
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ...(method === "GET" ? [] : [`Content-Length: ${bytes.length}`]),
    ...more,
  ];
  return ask(port, `${lines.join("\r\n")}\r\n\r\n${bytes.toString("latin1")}`);
}

export const json = "application/json";
export const form = "application/x-www-form-urlencoded";

/** A genuine callback in each of the three forms; `text` is the content of the body or of the query. */
export const forms: readonly (readonly [name: string, write: (parameters: Given) => Sent])[] = [
  ["POST JSON", (parameters) => ({ type: json, body: JSON.stringify(parameters) })],
  ["POST form", (parameters) => ({ type: form, body: formOf(parameters) })],
  ["GET query", (parameters) => ({ method: "GET", target: `/hook?${formOf(parameters)}` })],
];

export function sendJson(port: number, parameters: Given, more: readonly string[] = []): Promise<RawAnswer> {
  return send(port, { type: json, body: JSON.stringify(parameters), more });
}

/** A genuine callback with the present timestamp, different from all others. */
let counted = 0;
export function freshCallback(given: Given = {}): Given {
  counted += 1;
  return callbackOf({ number: String(counted), ...given });
}

export const headersOf = ({ headers }: Received): ReadonlyMap<string, string> => new Map(headers);

/** A stage whose application is a bare socket, played by the test. */
export async function stageRaw(
  serve: (socket: Socket) => void,
  { scheme = "http", timeoutMs = 5_000 }: { readonly scheme?: string; readonly timeoutMs?: number } = {},
): Promise<CallbackStage> {
  const port = await listen(createTcpServer((socket) => serve(socket.on("error", () => {}))));
  const application = { url: addressOf(`${scheme}://127.0.0.1:${port}/callbacks`), timeoutMs, tls: noTls };
  return stageCallbacks({ listener: { application } });
}

/** A stage whose application answers each connection with these bytes, and ends the connection. */
export const stageAnswering = (bytes: string) =>
  stageRaw((socket) => void socket.once("data", () => socket.end(bytes)));

/** Expects an answer that is this failure; returns its detail. */
export function expectProblem({ status, text }: RawAnswer, code: FailureCode, outcome: Outcome = "not_sent") {
  const problem = JSON.parse(text);
  expect({ ...problem, status }).toMatchObject({ code, outcome, status: failures[code].status });
  return problem;
}
