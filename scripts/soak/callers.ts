import { Load, type Target } from "../../testkit/load.ts";
import { type Answer, labelOf, sendOrder } from "../../testkit/send-order.ts";
import type { Account, Failure } from "./account.ts";
import type { Ledger } from "./ledger.ts";
import { sites } from "./settings.ts";

const mostAtOnce = 100;
/** A caller's idle connections end soon, so that connections open later are a leak. */
const idleMs = 1_000;
const longestStayMs = 150;

/** The order's reference, the same at caller, proxy and service. */
export function referenceOf(number: number): string {
  return `soak-${number}`;
}

/** Orders at a steady rate, to each replica and each site in turn, each with its entry in the ledger. */
export class Callers extends Load {
  /** The share of orders whose callers do not wait for the answer. */
  leavingShare = 0;
  readonly #ledger: Ledger;
  readonly #account: Account;
  readonly #random: () => number;
  /** Replicas that have been told to end, and may refuse callers. */
  readonly #ending = new Set<string>();

  constructor(ledger: Ledger, account: Account, random: () => number) {
    const poolOptions = { keepAliveMaxTimeout: idleMs, keepAliveTimeout: idleMs, pipelining: 1 };
    super({ mostAtOnce, poolOptions, order: (target, turn) => this.#order(target, turn) });
    this.#ledger = ledger;
    this.#account = account;
    this.#random = random;
  }

  /** From here on the replica may say that it is closing, and refuse connections. */
  expectEnd(replica: string): void {
    this.#ending.add(replica);
  }

  async #order(first: Target, turn: number): Promise<void> {
    const site = sites[Math.floor(turn / Math.max(1, this.size)) % sites.length] ?? sites[0];
    const number = this.#ledger.open();
    const leavesAfterMs = this.#random() < this.leavingShare ? this.#random() * longestStayMs : undefined;
    const letter = { reference: referenceOf(number), site, leavesAfterMs };
    const sentMs = performance.now();
    let target = first;
    let answer = await sendOrder(target.pool, letter);
    while (this.#ending.has(target.replica) && (answer.isRefused || answer.isClosing)) {
      // Its connections are closed as soon as their orders are answered, this one included.
      void this.remove(target.replica);
      const next = this.choose(number);
      if (!answer.isRefused || next === undefined) break;
      // The replica refused the connection: the order goes to another, as through any load balancer.
      target = next;
      answer = await sendOrder(target.pool, letter);
    }
    this.#conclude({ number, replica: target.replica, site, sentMs, endedMs: performance.now() }, answer);
  }

  #conclude(order: Omit<Failure, "label" | "requestId">, { told, requestId }: Answer): void {
    this.#ledger.tell(order.number, told, order.replica, order.endedMs);
    const label = labelOf(told);
    if (label !== undefined) this.#account.failed({ ...order, label, requestId });
    else if (told.kind === "answered") this.#account.succeeded(order);
  }
}
