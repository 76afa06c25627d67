import { Pool } from "undici";
import type { FleetEvent } from "./account.ts";

type Answered = Extract<FleetEvent, { kind: "answered" }>;

interface Target {
  readonly pool: Pool;
  inFlight: number;
  answered: number;
  /** Called when its last open request has ended. */
  onIdle: () => void;
}

const body = JSON.stringify({
  order_amount: "10.00",
  order_currency: "EUR",
  site_customer_identifier: "customer_1",
});

const tickMs = 10;
/** After a stall the missed requests are not made up for all at once. */
const mostAtOnce = 10;
/** Beyond the replica's own deadline, so that it is the replica that says how a request ended. */
const timeoutMs = 30_000;

/** The callers: orders at a steady rate, to each replica in turn, whether or not earlier ones have been answered. */
export class Load {
  readonly #perSecond: number;
  readonly #report: (answered: Answered) => void;
  readonly #targets = new Map<string, Target>();
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;

  constructor(perSecond: number, report: (answered: Answered) => void) {
    this.#perSecond = perSecond;
    this.#report = report;
  }

  add(replica: string, url: string): void {
    this.#targets.set(replica, { pool: new Pool(url), inFlight: 0, answered: 0, onIdle: () => {} });
  }

  /** Sends this replica nothing more. Resolves when its open requests have been answered. */
  async remove(replica: string): Promise<void> {
    const target = this.#targets.get(replica);
    if (target === undefined) return;
    this.#targets.delete(replica);
    await untilIdle(target);
    await target.pool.destroy();
  }

  /** Answers so far, by replica. */
  answered(): ReadonlyMap<string, number> {
    return new Map([...this.#targets].map(([replica, { answered }]) => [replica, answered]));
  }

  /** One order through each replica. */
  async orderOnce(): Promise<void> {
    await Promise.all([...this.#targets].map(([replica, target]) => this.#order(replica, target)));
  }

  start(): void {
    const startedMs = performance.now();
    let made = 0;
    this.#timer = setInterval(() => {
      const wanted = Math.floor(((performance.now() - startedMs) / 1_000) * this.#perSecond);
      for (let count = Math.min(wanted - made, mostAtOnce); count > 0; count--) this.#orderNext();
      made = wanted;
    }, tickMs);
  }

  /** Resolves when all has been answered. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#targets.values()].map(untilIdle));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#targets.values()].map(({ pool }) => pool.destroy()));
  }

  #orderNext(): void {
    const all = [...this.#targets];
    const next = all[this.#turn++ % all.length];
    if (next !== undefined) void this.#order(...next);
  }

  async #order(replica: string, target: Target): Promise<void> {
    const startedMs = performance.now();
    target.inFlight += 1;
    const failure = await order(target.pool).catch(describe);
    target.inFlight -= 1;
    target.answered += 1;
    this.#report({ kind: "answered", replica, durationMs: performance.now() - startedMs, failure });
    if (target.inFlight === 0) target.onIdle();
  }
}

/** @returns what went wrong, undefined when the order exists */
async function order(pool: Pool): Promise<string | undefined> {
  const answer = await pool.request({
    method: "POST",
    path: "/create_order",
    headers: { "content-type": "application/json" },
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  await answer.body.dump();
  if (answer.statusCode === 200) return undefined;
  const { "countersign-error": code = "by the service", "countersign-outcome": outcome = "" } = answer.headers;
  return `${answer.statusCode} ${code} ${outcome}`.trim();
}

function describe(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}

function untilIdle(target: Target): Promise<void> {
  if (target.inFlight === 0) return Promise.resolve();
  return new Promise((resolve) => {
    target.onIdle = resolve;
  });
}
