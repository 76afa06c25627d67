/** The behaviour of a client, as counted on the other side of its connections. */
import type { Socket } from "node:net";
import { expect } from "vitest";
import { startFaultProxy } from "../../testkit/fault-proxy.ts";
import { rawAnswer, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { plainEnvironment, runToEnd } from "../../testkit/run-program.ts";
import type { Client } from "./clients.ts";

/** Runs the program; returns its output, a line for each answer. */
export async function runClient(client: Client, env: Record<string, string>, args: readonly string[] = []) {
  const [program, ...own] = client.command();
  const { exitCode: code, stdout, stderr } = await runToEnd(program, [...args, ...own], plainEnvironment(env));
  return { code, lines: stdout.split("\n").slice(0, -1), stderr };
}

/** Calls the URL with a proxy set, and counts the connections to the proxy. */
export async function runWithProxy(client: Client, baseUrl: string, proxyUrl: string, noProxy = "") {
  const proxy = await startFaultProxy(proxyUrl);
  const { env, args } = client.proxySettings(proxy.port);
  const result = await runClient(client, { ...env, BASE_URL: baseUrl, NO_PROXY: noProxy, no_proxy: noProxy }, args);
  return { ...result, connections: proxy.connections };
}

/** The action of a server after it has read an order, by the number of the order. */
type Treatment = (order: number, socket: Socket) => void;

const outcome = "Countersign-Outcome: answered\r\n";
const answered = rawAnswer(200, "{}", outcome);

/** Statuses that ask for the same request again, or after which some library repeats it. */
const invitations = [307, 308, 408, 421, 429, 503];
const keptFor = 10;

/** Ways to end a connection without an answer, on a new connection or on one that has answered orders. */
const breaks: readonly { isKept: boolean; end: (socket: Socket) => void }[] = [false, true].flatMap((isKept) => [
  { isKept, end: (socket: Socket) => socket.end() },
  { isKept, end: (socket: Socket) => socket.resetAndDestroy() },
]);

/**
 * The cases in which the client sends an order that the server has read a second time, in the words of the page: "never", or the causes.
 * Each example must also say that the order may exist.
 */
export async function findRepeats(client: Client): Promise<string> {
  const [broken, statuses] = await Promise.all([
    Promise.all(
      breaks.map(async ({ isKept, end }) => ((await repeatsAfter(client, isKept, end)) ? isKept : undefined)),
    ),
    findInvited(client),
  ]);
  const found: string[] = [];
  if (broken.includes(false)) found.push("when a new connection breaks");
  if (broken.includes(true)) found.push("when a kept connection breaks");
  if (statuses.length > 0) found.push(`after ${statuses.join(", ")}`);
  return found.length === 0 ? "never" : found.join("; ");
}

async function repeatsAfter(client: Client, isKept: boolean, end: (socket: Socket) => void): Promise<boolean> {
  const before = isKept ? keptFor : 0;
  const treat: Treatment = (order, socket) => (order <= before ? socket.write(answered) : end(socket));
  const { repeated, result, heads } = await serve(client, before + 1, treat);
  if (client.isExample) {
    const reference = `order-${before + 1}`;
    expect(heads.at(-1)).toMatch(new RegExp(`^countersign-reference: ${reference}\r?$`, "im"));
    expect(result.stderr).toContain(`${reference}: no answer`);
    expect(result.stderr).toContain(`${reference} may exist: look for it before you send it again`);
    expect(result).toMatchObject({ code: 1, lines: Array.from({ length: before }, () => "200 answered") });
  }
  return repeated.length > 0;
}

async function findInvited(client: Client): Promise<number[]> {
  const { repeated, result } = await serve(client, invitations.length, invite());
  const followed = invitations.filter((_, index) => repeated.includes(index + 1));
  if (client.isExample) {
    expect(result.lines).toEqual(
      invitations.map((status) => (followed.includes(status) ? "200 answered" : `${status} answered`)),
    );
    expect(result.code).toBe(0);
  }
  return followed;
}

/** Answers each order at its first arrival with a status that invites a repetition. */
function invite(): Treatment {
  const seen = new Set<number>();
  return (order, socket) => {
    const status = seen.has(order) ? 200 : (invitations[order - 1] ?? 200);
    seen.add(order);
    socket.write(rawAnswer(status, "{}", `${outcome}Location: /create_order\r\nRetry-After: 0\r\n`));
  };
}

/** Runs the client against a server, and returns which orders came more than once. */
async function serve(client: Client, count: number, treat: Treatment) {
  const orders: number[] = [];
  const server = await startRawUpstream({
    answer({ head }, socket) {
      const order = Number(/^countersign-reference: order-(\d+)\r?$/im.exec(head)?.[1]);
      orders.push(order);
      treat(order, socket);
    },
  });
  const result = await runClient(client, { BASE_URL: server.url, COUNT: String(count) });
  const repeated = [...new Set(orders.filter((order, index) => orders.indexOf(order) !== index))];
  return { repeated, result, heads: server.requests.map(({ head }) => head) };
}
