import { Pool } from "undici";
import type { Failure } from "./explain.ts";
import { sites } from "./folder.ts";
import type { Ledger } from "./ledger.ts";
import { labelOf } from "./order.ts";
import { type Answer, send } from "./send.ts";

/** How callers reach a replica. */
interface Target {
  readonly replica: string;
  readonly pool: Pool;
  /** It has been told to end, and may turn callers away. */
  isEnding: boolean;
}

export interface CallersParts {
  readonly ledger: Ledger;
  readonly random: () => number;
  readonly onFailure: (failure: Failure) => void;
  /** An order was created. */
  readonly onSuccess: (order: { readonly replica: string; readonly site: string; readonly sentMs: number }) => void;
}

const tickMs = 10;
/** After a stall the missed requests are not made up for all at once. */
const mostAtOnce = 100;
const lookEveryMs = 20;
/** A caller's idle connections end soon, so that what is open later is a leak. */
const idleMs = 1_000;
const longestStayMs = 150;

/** The name that an order has on its whole way. */
export function referenceOf(number: number): string {
  return `soak-${number}`;
}

/** Orders at a steady rate, to each replica and each site in turn, whether or not earlier ones have been answered. */
export class Callers {
  /** How many of them do not wait for their answer. */
  leavingShare = 0;
  readonly #parts: CallersParts;
  readonly #targets = new Map<string, Target>();
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;
  #inFlight = 0;

  constructor(parts: CallersParts) {
    this.#parts = parts;
  }

  add(replica: string, url: string): void {
    const pool = new Pool(url, { keepAliveMaxTimeout: idleMs, keepAliveTimeout: idleMs, pipelining: 1 });
    this.#targets.set(replica, { replica, pool, isEnding: false });
  }

  /** From here on it may say that it is closing, and refuse connections. */
  expectEnd(replica: string): void {
    const target = this.#targets.get(replica);
    if (target !== undefined) target.isEnding = true;
  }

  start(perSecond: number): void {
    const startedMs = performance.now();
    let made = 0;
    this.#timer = setInterval(() => {
      const wanted = Math.floor(((performance.now() - startedMs) / 1_000) * perSecond);
      for (let count = Math.min(wanted - made, mostAtOnce); count > 0; count--) this.#orderNext();
      made = wanted;
    }, tickMs);
  }

  /** Sends no more, and resolves when all has been answered. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#inFlight > 0) await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#targets.values()].map(({ pool }) => pool.destroy()));
  }

  #orderNext(): void {
    this.#turn += 1;
    const site = sites[Math.floor(this.#turn / Math.max(1, this.#targets.size)) % sites.length];
    const target = this.#choose(this.#turn);
    if (target !== undefined && site !== undefined) void this.#order(target, site);
  }

  #choose(turn: number): Target | undefined {
    return [...this.#targets.values()][turn % Math.max(1, this.#targets.size)];
  }

  async #order(first: Target, site: string): Promise<void> {
    const { ledger, random } = this.#parts;
    const number = ledger.open();
    const leavesAfterMs = random() < this.leavingShare ? random() * longestStayMs : undefined;
    const letter = { reference: referenceOf(number), site, leavesAfterMs };
    const sentMs = performance.now();
    this.#inFlight += 1;
    let target = first;
    let answer = await send(target.pool, letter);
    while (target.isEnding && (answer === undefined || answer.isClosing)) {
      this.#remove(target);
      const next = this.#choose(number);
      if (answer !== undefined || next === undefined) break;
      // Turned away at the door, it goes to another replica, as through any load balancer.
      target = next;
      answer = await send(target.pool, letter);
    }
    this.#inFlight -= 1;
    this.#conclude({ number, replica: target.replica, site, sentMs, endedMs: performance.now() }, answer);
  }

  #conclude(order: Omit<Failure, "label" | "requestId">, answer: Answer | undefined): void {
    const { ledger, onFailure, onSuccess } = this.#parts;
    const { number, replica, endedMs } = order;
    const told = answer?.told ?? { kind: "broken", why: "ECONNREFUSED" };
    ledger.tell(number, told, replica, endedMs);
    const label = labelOf(told);
    if (label !== undefined) onFailure({ ...order, label, requestId: answer?.requestId });
    else if (told.kind === "answered") onSuccess(order);
  }

  /** Its connections are closed as soon as nobody waits on them. */
  #remove(target: Target): void {
    this.#targets.delete(target.replica);
    void target.pool.close();
  }
}
