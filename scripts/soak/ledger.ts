import type { Told } from "../../testkit/send-order.ts";
import { judgeOrder, type Logged, type Order, type Sighting } from "./order.ts";

/**
 * Columns of orders, by their callers' knowledge. `answered`: 200. `other`: another answer of the service. `unknown`, `not_sent`:
 * as Countersign said. `left`: the caller did not wait. `broken`: no answer.
 */
const columnNames = ["answered", "other", "unknown", "not_sent", "left", "broken"] as const;
type ColumnName = (typeof columnNames)[number];
/** `arrived`: the orders that the service has created. */
export type Columns = Readonly<Record<ColumnName, { readonly orders: number; readonly arrived: number }>>;

export interface Disagreement {
  readonly number: number;
  readonly what: string;
}

interface Entry {
  readonly seen: Sighting[];
  readonly logged: Logged[];
  told: Told | undefined;
  toldAtMs: number;
  /** The replica that received the order last. */
  replica: string;
}

/** Further ones are counted, but not kept. */
const longestList = 20;

/**
 * The book of all orders. An order is kept from its sending until all three sides have reported it; then it is
 * only counted in its column, so that a million orders take no memory.
 */
export class Ledger {
  readonly #open = new Map<number, Entry>();
  readonly #orphans = new Set<string>();
  readonly #columns = emptyColumns();
  readonly columns: Columns = this.#columns;
  readonly disagreements: Disagreement[] = [];
  disagreeing = 0;
  sent = 0;

  /** @returns the order's number */
  open(): number {
    this.sent += 1;
    this.#open.set(this.sent, { seen: [], logged: [], told: undefined, toldAtMs: 0, replica: "" });
    return this.sent;
  }

  tell(number: number, told: Told, replica: string, atMs: number): void {
    const entry = this.#find(number, "its caller was told");
    if (entry === undefined) return;
    entry.told = told;
    entry.replica = replica;
    entry.toldAtMs = atMs;
  }

  see(number: number, sighting: Sighting): void {
    this.#find(number, "the service saw it")?.seen.push(sighting);
  }

  log(number: number, logged: Logged): void {
    this.#find(number, "it was logged")?.logged.push(logged);
  }

  /** The replica was killed: its knowledge of orders may be lost. */
  orphan(replica: string): void {
    this.#orphans.add(replica);
  }

  /** Closes the orders whose callers had their answer by then. */
  settle(untilMs: number): void {
    for (const [number, entry] of this.#open) {
      const { told, toldAtMs, seen, logged, replica } = entry;
      if (told === undefined || toldAtMs > untilMs) continue;
      this.#open.delete(number);
      this.#close(number, { told, seen, logged, isOrphan: this.#orphans.has(replica) });
    }
  }

  /** A closed order is no longer found: then a report of it came very late. */
  #find(number: number, what: string): Entry | undefined {
    const entry = this.#open.get(number);
    if (entry === undefined) this.#disagree(number, `${what} after its end`);
    return entry;
  }

  #close(number: number, order: Order): void {
    const what = judgeOrder(order);
    if (what !== undefined) this.#disagree(number, what);
    const column = this.#columns[columnOf(order.told)];
    column.orders += 1;
    column.arrived += order.seen.filter((sighting) => sighting === "accepted").length;
  }

  #disagree(number: number, what: string): void {
    this.disagreeing += 1;
    if (this.disagreements.length < longestList) this.disagreements.push({ number, what });
  }
}

function columnOf(told: Told): ColumnName {
  if (told.kind === "answered") return told.status === 200 ? "answered" : "other";
  if (told.kind === "failed") return told.outcome === "not_sent" ? "not_sent" : "unknown";
  return told.kind === "cut" ? "unknown" : told.kind;
}

function emptyColumns() {
  const columns = columnNames.map((name) => [name, { orders: 0, arrived: 0 }]);
  return Object.fromEntries(columns) as Record<ColumnName, { orders: number; arrived: number }>;
}
