/** The behaviour of a client, as counted on the other side of its connections. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { startFaultProxy } from "../../testkit/fault-proxy.ts";
import { listen } from "../../testkit/listen.ts";
import { plainEnvironment, runToEnd } from "../../testkit/run-program.ts";
import type { Client, Command } from "./clients.ts";

/** A program of a client, with the library's defaults or with the setting. */
export interface Variant {
  readonly client: Client;
  readonly command: () => Command;
  readonly isSet: boolean;
  readonly isExample: boolean;
}

/** The library with its defaults; and with its setting, if the client has one. */
export function variantsOf(client: Client): { readonly plain?: Variant; readonly set?: Variant } {
  const { plain, setting } = client;
  const { command, isExample = false } = setting ?? {};
  return {
    ...(plain && { plain: { client, command: plain, isSet: false, isExample: false } }),
    ...(command && { set: { client, command, isSet: true, isExample } }),
  };
}

/** Runs the program; returns its output, a line for each answer. */
export async function runClient(
  { command, isSet }: Variant,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
) {
  const [program, ...own] = command();
  const all = { HEADER: "Countersign-Reference", COUNT: "1", SET: isSet ? "1" : "", ...env };
  const { exitCode: code, stdout, stderr } = await runToEnd(program, [...args, ...own], plainEnvironment(all));
  return { code, lines: stdout.split("\n").slice(0, -1), stderr };
}

/** Calls the URL with a proxy set, and counts the connections to the proxy. */
export async function runWithProxy(variant: Variant, baseUrl: string, proxyUrl: string, noProxy = "") {
  const proxy = await startFaultProxy(proxyUrl);
  const { env, args } = variant.client.proxySettings(proxy.port);
  const result = await runClient(variant, { ...env, BASE_URL: baseUrl, NO_PROXY: noProxy, no_proxy: noProxy }, args);
  return { ...result, connections: proxy.connections };
}

/** What a client does by itself, in the words of the page. */
export interface Findings {
  /** "never", or the causes for which an order was sent again that the server had read. */
  readonly sendsAgain: string;
  /** What its requests have that most others have not. */
  readonly traits: readonly string[];
}

/** Statuses that ask for the same request again, or after which some library repeats it. */
const invitations = [301, 302, 307, 308, 408, 421, 425, 429, 502, 503, 504];
/** Orders that a connection has answered before it breaks. */
const keptFor = 10;

/** What the server does with an order that it has read for the first time. */
type Step =
  | { readonly kind: "answer"; readonly status: number; readonly closes?: boolean }
  | { readonly kind: "break"; readonly place: Place; readonly end: (socket: Socket) => void };

type Place = "closed" | "reset" | "head" | "body";

const head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: application/json\r\n";
const breaks: Readonly<Record<Place, (socket: Socket) => void>> = {
  closed: (socket) => socket.end(),
  reset: (socket) => socket.resetAndDestroy(),
  head: (socket) => socket.end(head),
  body: (socket) => socket.end(`${head}\r\n{"order":`),
};
const ok: Step = { kind: "answer", status: 200 };
const breakAt = (place: Place): Step => ({ kind: "break", place, end: breaks[place] });

const script: readonly Step[] = [
  breakAt("closed"),
  { ...ok, closes: true },
  breakAt("reset"),
  ...(["closed", "reset", "head", "body"] as const).flatMap((place) => [
    ...Array.from({ length: keptFor }, () => ok),
    breakAt(place),
  ]),
  ...invitations.map((status): Step => ({ kind: "answer", status })),
];

/** What became of an order. */
interface Seen {
  arrivals: number;
  /** Whether its connection had answered another order. */
  isKept: boolean;
  /** What the program printed for it. */
  said?: string;
}

/**
 * Plays the script with the client, whose orders have this header. A program that ends before is started again for the rest: an
 * example stops when an order may exist, and some libraries crash or wait for ever after a cut answer.
 */
export async function findBehaviour(variant: Variant, header = "Countersign-Reference"): Promise<Findings> {
  const seen = new Map<number, Seen>();
  const traits = new Set<string>();
  let offset = 0;
  const url = await startServer((request, body, response) => {
    const order = offset + Number(/^order-(\d+)$/.exec(String(request.headers[header.toLowerCase()]))?.[1]);
    response.setHeader("Countersign-Outcome", "answered");
    // What comes over a connection that the server has ended is not read by a real one.
    if (ended.has(request.socket)) return void request.socket.resetAndDestroy();
    // A redirect that is followed by a GET sends no order.
    if (request.method !== "POST" || body === "") return void response.end("{}");
    noteTraits(request, body, traits);
    const step = script[order - 1] ?? ok;
    const before = seen.get(order);
    const isKept = used.has(request.socket);
    used.add(request.socket);
    if (before !== undefined) {
      before.arrivals += 1;
      response.end("{}");
      return;
    }
    seen.set(order, { arrivals: 1, isKept });
    if (step.kind === "break") {
      ended.add(request.socket);
      return step.end(request.socket);
    }
    if (step.closes) response.setHeader("Connection", "close");
    const invites = step.status === 200 ? {} : { Location: "/create_order", "Retry-After": "0" };
    response.writeHead(step.status, invites).end("{}");
  });
  const used = new WeakSet<Socket>();
  const ended = new WeakSet<Socket>();
  while (offset < script.length) {
    const env = { BASE_URL: url, COUNT: String(script.length - offset), HEADER: header };
    const result = await runClient(variant, env);
    const last = Math.max(offset, ...seen.keys());
    expect(last, result.stderr).toBeGreaterThan(offset);
    for (const [index, line] of result.lines.entries()) {
      const order = seen.get(offset + index + 1);
      if (order !== undefined) order.said = line.split(" ")[0] ?? "";
    }
    if (variant.isExample) expectOfExample(result, script.slice(offset, last), seen, offset);
    offset = last;
  }
  const bodyCut = script.findIndex((step) => step.kind === "break" && step.place === "body") + 1;
  if (seen.get(bodyCut)?.said === "200" && seen.get(bodyCut)?.arrivals === 1)
    traits.add("takes half an answer for a whole one");
  return { sendsAgain: describeRepeats(seen), traits: [...traits] };
}

/** An example goes on after a status, and stops after a break, when the order may exist. */
function expectOfExample(
  { code, lines, stderr }: Awaited<ReturnType<typeof runClient>>,
  played: readonly Step[],
  seen: ReadonlyMap<number, Seen>,
  offset: number,
): void {
  const statuses = played.flatMap((step, index) => {
    if (step.kind === "break") return [];
    return [`${(seen.get(offset + index + 1)?.arrivals ?? 1) > 1 ? 200 : step.status} answered`];
  });
  const last = played.at(-1);
  const isCut = last?.kind === "break" && (last.place === "head" || last.place === "body");
  // Of an answer that was cut, a library may show the status, but never the outcome.
  if (isCut && lines.length > statuses.length) expect(lines.pop()).toMatch(/^200 (null|undefined|unknown|None)?$/);
  expect(lines).toEqual(statuses);
  expect(code).toBe(last?.kind === "break" ? 1 : 0);
  if (last?.kind !== "break") return;
  const reference = `order-${played.length}`;
  if (!isCut) expect(stderr).toContain(`${reference}: no answer`);
  expect(stderr).toContain(`${reference} may exist: look for it before you send it again`);
}

function describeRepeats(seen: ReadonlyMap<number, Seen>): string {
  const causes = new Map<string, string[]>();
  const statuses: number[] = [];
  for (const [index, step] of script.entries()) {
    const { arrivals = 1, isKept } = seen.get(index + 1) ?? {};
    if (arrivals < 2) continue;
    if (step.kind === "answer") statuses.push(step.status);
    else if (step.place === "head" || step.place === "body")
      causes.set(`when an answer is cut in its ${step.place}`, []);
    else {
      const connection = `when a ${isKept ? "kept" : "new"} connection`;
      causes.set(connection, [...(causes.get(connection) ?? []), step.place]);
    }
  }
  const broken = [...causes].map(([cause, how]) => {
    if (how.length === 0) return cause;
    return `${cause} ${how.length > 1 ? "breaks" : `is ${how[0]}`}`;
  });
  const all = [...broken, ...(statuses.length > 0 ? [`after ${statuses.join(", ")}`] : [])];
  return all.length === 0 ? "never" : all.join("; ");
}

/** The number of an order is 10.10, by the JSON of the language if it has one. */
function noteTraits({ headers }: IncomingMessage, body: string, traits: Set<string>): void {
  if (headers.expect !== undefined) traits.add(`Expect: ${headers.expect}`);
  if (headers["transfer-encoding"] !== undefined) traits.add(String(headers["transfer-encoding"]));
  if (headers.upgrade !== undefined) traits.add(`Upgrade: ${headers.upgrade}`);
  const amount = /"order_amount":\s*([^,}\s]+)/.exec(body)?.[1];
  if (amount !== "10.10" && amount !== "10.1" && amount !== "10") traits.add(`10.10 becomes ${amount}`);
}

async function startServer(
  serve: (request: IncomingMessage, body: string, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(async (request, response) => {
    request.socket.on("error", () => {});
    serve(request, await text(request), response);
  });
  server.keepAliveTimeout = 0;
  return `http://127.0.0.1:${await listen(server)}`;
}
