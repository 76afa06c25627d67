import { Load, type Target } from "../../testkit/load.ts";
import type { Failure } from "./explain.ts";
import { sites } from "./folder.ts";
import type { Ledger } from "./ledger.ts";
import { labelOf } from "./order.ts";
import { type Answer, send } from "./send.ts";

export interface CallersParts {
  readonly ledger: Ledger;
  readonly random: () => number;
  readonly onFailure: (failure: Failure) => void;
  /** An order was created. */
  readonly onSuccess: (order: { readonly replica: string; readonly site: string; readonly sentMs: number }) => void;
}

const mostAtOnce = 100;
/** A caller's idle connections end soon, so that what is open later is a leak. */
const idleMs = 1_000;
const longestStayMs = 150;

/** The name that an order has on its whole way. */
export function referenceOf(number: number): string {
  return `soak-${number}`;
}

/** Orders at a steady rate, to each replica and each site in turn, each with its entry in the ledger. */
export class Callers extends Load {
  /** How many of them do not wait for their answer. */
  leavingShare = 0;
  readonly #parts: CallersParts;
  /** Replicas that have been told to end, and may turn callers away. */
  readonly #ending = new Set<string>();

  constructor(parts: CallersParts) {
    const poolOptions = { keepAliveMaxTimeout: idleMs, keepAliveTimeout: idleMs, pipelining: 1 };
    super({ mostAtOnce, poolOptions, order: (target, turn) => this.#order(target, turn) });
    this.#parts = parts;
  }

  /** From here on it may say that it is closing, and refuse connections. */
  expectEnd(replica: string): void {
    this.#ending.add(replica);
  }

  async #order(first: Target, turn: number): Promise<void> {
    const { ledger, random } = this.#parts;
    const site = sites[Math.floor(turn / Math.max(1, this.size)) % sites.length] ?? sites[0];
    const number = ledger.open();
    const leavesAfterMs = random() < this.leavingShare ? random() * longestStayMs : undefined;
    const letter = { reference: referenceOf(number), site, leavesAfterMs };
    const sentMs = performance.now();
    let target = first;
    let answer = await send(target.pool, letter);
    while (this.#ending.has(target.replica) && (answer === undefined || answer.isClosing)) {
      // Its connections are closed as soon as their orders are answered, this one included.
      void this.remove(target.replica);
      const next = this.choose(number);
      if (answer !== undefined || next === undefined) break;
      // The replica refused the connection: the order goes to another, as through any load balancer.
      target = next;
      answer = await send(target.pool, letter);
    }
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
}
