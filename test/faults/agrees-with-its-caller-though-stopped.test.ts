/** Stopped for 12 s at any step of a request, the process never says `not_sent` of a request that it forwards. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { call } from "../../testkit/call.ts";
import { type RawAnswer, RawConnection, type RawPost, rawPost, readAnswers } from "../../testkit/raw-caller.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";
import { hmacSite, type Pod, startPod } from "../promises/reload/pod.ts";

/** Longer than the 10 s that a head may take. */
const stoppedMs = 12_000;
const timesEach = 8;
const answered = /\r\n\r\n\{.*\}\n?$/s;

/** One connection with the ids of the orders that were sent on it. */
class CallerOnce {
  readonly connection: RawConnection;
  readonly ids: string[] = [];
  readonly name: string;
  #rest = "";

  constructor(name: string, connection: RawConnection) {
    this.name = name;
    this.connection = connection;
  }

  newOrder(given: RawPost = {}): string {
    const id = `${this.name}-${this.ids.length + 1}`;
    this.ids.push(id);
    return orderOf(id, given);
  }

  write(bytes: string): this {
    this.connection.write(bytes);
    return this;
  }

  /** Writes an order up to a mark in it; `rest` writes the remaining bytes. */
  writeUpTo(mark: string, order = this.newOrder()): this {
    const at = order.indexOf(mark) + mark.length;
    this.#rest = order.slice(at);
    return this.write(order.slice(0, at));
  }

  rest(): this {
    return this.write(this.#rest);
  }

  /** Resolves when there is an answer for each order, or the proxy has ended the connection. */
  async settled(): Promise<readonly RawAnswer[]> {
    const { socket } = this.connection;
    for (;;) {
      const text = await this.connection.until(/^/);
      const isOver = socket.readableEnded || socket.destroyed;
      const answers = isOver ? readAnswers(text) : wholeAnswers(text);
      const final = answers?.filter(({ status }) => status >= 200);
      if (final !== undefined && (isOver || final.length >= this.ids.length)) return final;
      await Promise.race([once(socket, "text"), once(socket, "end"), once(socket, "close")]);
    }
  }
}

const inHead = "Content-Type: app";
const inBody = '"order_amount"';
const connectRequest = "CONNECT api:443 HTTP/1.1\r\nHost: api:443\r\n\r\n";

const beginHead = (one: CallerOnce) => void one.writeUpTo(inHead);
const beginBody = (one: CallerOnce) => void one.writeUpTo(inBody);
const sendRest = (one: CallerOnce) => void one.rest();
const sendOrder = (one: CallerOnce) => void one.write(one.newOrder());

const scripts: Readonly<Record<string, Script>> = {
  "head, its rest while stopped": { before: beginHead, stopped: sendRest },
  "head, its rest as it resumes": { before: beginHead, after: sendRest },
  "head, its rest after the answer": { before: beginHead, after: restAndAnother },
  "head, its rest and a tunnel after the answer": {
    before: beginHead,
    async after(one) {
      await one.connection.until(answered);
      one.rest().write(connectRequest);
    },
  },
  "head of an order that expects 100": {
    before: (one) => void one.writeUpTo(inHead, one.newOrder({ more: ["Expect: 100-continue"] })),
    after: restAndAnother,
  },
  "nothing yet, an order while stopped": { stopped: sendOrder },
  "body, its rest while stopped": { before: beginBody, stopped: sendRest },
  "body, its rest as it resumes": { before: beginBody, after: sendRest },
  "an answered order, half a head, its rest while stopped": { before: orderAndBeginHead, stopped: sendRest },
  "an answered order, half a head, its rest after the answer": {
    before: orderAndBeginHead,
    async after(one) {
      await one.connection.until(/408[\s\S]*\}\n$/);
      one.rest().write(one.newOrder());
    },
  },
  "a held answer": { held: true },
  "a held answer, an order while stopped": { held: true, stopped: sendOrder },
  "a held answer and half a head, its rest while stopped": { held: true, before: beginHead, stopped: sendRest },
  "a held answer and half a head, its rest after the answer": { held: true, before: beginHead, after: restAndAnother },
  "a held answer, a tunnel while stopped": { held: true, stopped: (one) => void one.write(connectRequest) },
  "a held answer, nonsense and an order while stopped": {
    held: true,
    stopped: (one) => void one.write(`BLAH blah\r\n\r\n${one.newOrder()}`),
  },
  "too long a body, an order behind it": {
    before: (one) => void one.write(one.newOrder({ framing: ["Content-Length: 300000"], body: "x".repeat(99) })),
    stopped: (one) => void one.write("x".repeat(300_000 - 99)).write(one.newOrder()),
  },
  "too long a head, an order behind it": {
    before: (one) => void one.writeUpTo("X-Long: xx", one.newOrder({ more: [`X-Long: ${"x".repeat(20_000)}`] })),
    stopped: (one) => void one.rest().write(one.newOrder()),
  },
};

it("says not_sent of no order that is sent, stopped once at any step", async () => {
  const pod = await startPod();
  const callers = await openCallers(pod);
  const held = callers.filter(([{ held }]) => held);
  const hanging = pod.simulator.faults.add({ host: "api", kind: "hang", times: held.length });
  for (const [, caller] of held) caller.write(caller.newOrder());
  await hanging.whenPlayed(held.length);
  await Promise.all(callers.map(([{ before }, caller]) => before?.(caller)));
  // The process reads all written bytes before it answers this request.
  for (let n = 0; n < 3; n++) expect((await call(pod.url, "", { method: "GET" })).status).toBe(405);
  pod.program.child.kill("SIGSTOP");
  hanging.release();
  for (const [{ stopped }, caller] of callers) await stopped?.(caller);
  await sleep(stoppedMs);
  pod.program.child.kill("SIGCONT");
  await Promise.all(callers.map(([{ after }, caller]) => after?.(caller)));
  const settled = await Promise.all(callers.map(async ([, caller]) => [caller, await caller.settled()] as const));
  expect(await pod.program.stop()).toBe(0);
  expect(pod.program.stderr()).toBe("");
  expect(disagreements(pod, settled)).toEqual([]);
});

it("says not_sent of no order that is sent, if it runs only for short moments", async () => {
  const pod = await startPod();
  const callers = await Promise.all(
    Array.from({ length: 150 }, async (_, n) => new CallerOnce(`starved-${n}`, await RawConnection.open(pod.port))),
  );
  const random = seededRandom(drawSeed("when it runs"));
  let isOver = false;
  const starve = async () => {
    while (!isOver) {
      pod.program.child.kill("SIGSTOP");
      await sleep(200 + random() * 1_800);
      pod.program.child.kill("SIGCONT");
      await sleep(random() * 20);
    }
    pod.program.child.kill("SIGCONT");
  };
  // Heads that end before, at and after the end of the 10 s.
  const order = async (caller: CallerOnce) => {
    caller.writeUpTo(inHead);
    await sleep(8_000 + random() * 5_000);
    caller.rest();
    if (random() < 0.5) caller.write(caller.newOrder());
  };
  const starved = starve();
  await Promise.all(callers.map(order));
  isOver = true;
  await starved;
  const settled = await Promise.all(callers.map(async (caller) => [caller, await caller.settled()] as const));
  expect(await pod.program.stop()).toBe(0);
  expect(disagreements(pod, settled)).toEqual([]);
});

/** The differences between the callers' answers, the service's requests and the log. */
function disagreements(pod: Pod, settled: readonly (readonly [CallerOnce, readonly RawAnswer[]])[]): string[] {
  const found: string[] = [];
  const lines = pod.lines("request_finished");
  const sent = pod.simulator.seen.apiRequests.map(({ body }) => JSON.parse(String(body)).site_customer_identifier);
  const told = new Map<string, string>();
  for (const [{ name, ids }, answers] of settled) {
    const statuses = answers.map(({ status }) => status).join(", ");
    if (answers.length === 0) found.push(`${name}: no answer at all`);
    for (const [index, { status, headers }] of answers.entries()) {
      const requestId = headers["countersign-request-id"] ?? "";
      const outcome = headers["countersign-outcome"] ?? "";
      const its = lines.filter((line) => line.requestId === requestId);
      if (told.has(requestId)) found.push(`${name}: two answers to ${requestId}`);
      told.set(requestId, outcome);
      if (its.length !== 1) found.push(`${name}: ${its.length} access lines of answer ${index + 1} (${statuses})`);
      if (its[0]?.status !== status || its[0]?.outcome !== outcome) found.push(`${name}: the log says otherwise`);
      const id = ids[index] ?? "none";
      if (its[0]?.reference !== undefined && its[0].reference !== id) found.push(`${name}: answers are out of order`);
      if (outcome === "not_sent" && sent.includes(id)) found.push(`${id}: told not_sent, and sent (${statuses})`);
    }
    for (const id of ids) {
      const times = sent.filter((each) => each === id).length;
      const outcomes = lines.filter(({ reference }) => reference === id).map(({ outcome }) => outcome);
      if (times > 1) found.push(`${id}: sent ${times} times`);
      if (outcomes.length > 1) found.push(`${id}: ${outcomes.length} access lines: ${outcomes.join(", ")}`);
      if (times > 0 && !/^(answered|unknown)$/.test(outcomes.join())) found.push(`${id}: sent, and logged ${outcomes}`);
    }
  }
  const surplus = lines.filter(({ requestId, status }) => !told.has(requestId) && status !== 405);
  for (const { reference, status } of surplus) found.push(`a line without an answer: ${status} ${reference}`);
  return found;
}

/** An order with an id that the service and the log show; its connection stays open. */
function orderOf(id: string, given: RawPost = {}): string {
  const more = [`Countersign-Reference: ${id}`, `Countersign-Site: ${hmacSite}`, ...(given.more ?? [])];
  const body = JSON.stringify({ order_amount: "1.00", site_customer_identifier: id });
  return rawPost({ connection: [], body, ...given, more });
}

/** A caller's acts before, during and after the stop. Each order that it sends, whole or in part, gets an id of its own. */
interface Script {
  /** Orders whose answers the service holds back until the process is stopped. */
  readonly held?: boolean;
  before?(caller: CallerOnce): void | Promise<void>;
  stopped?(caller: CallerOnce): void | Promise<void>;
  after?(caller: CallerOnce): void | Promise<void>;
}

function wholeAnswers(text: string): readonly RawAnswer[] | undefined {
  try {
    return readAnswers(text);
  } catch {
    return undefined;
  }
}

async function orderAndBeginHead(one: CallerOnce): Promise<void> {
  await one.write(one.newOrder()).connection.until(answered);
  one.writeUpTo(inHead);
}

/** Writes the rest of an order, and another order, once there is an answer. */
async function restAndAnother(one: CallerOnce): Promise<void> {
  await one.connection.until(answered);
  one.rest().write(one.newOrder());
}

async function openCallers({ port }: Pod): Promise<readonly (readonly [Script, CallerOnce])[]> {
  const opened = [];
  for (const [index, [, script]] of Object.entries(scripts).entries()) {
    for (let n = 1; n <= timesEach; n++) {
      opened.push([script, new CallerOnce(`s${index}-${n}`, await RawConnection.open(port))] as const);
    }
  }
  return opened;
}
