import { Pool } from "undici";
import { expect, onTestFinished } from "vitest";
import { Ledger } from "../../scripts/soak/ledger.ts";
import { scrape } from "../../testkit/exposition.ts";
import type { Program } from "../../testkit/run-program.ts";
import { sendOrder } from "../../testkit/send-order.ts";

/**
 * Counts of all orders by their end. `existing`: the service saw it, though its caller was told `unknown`. `other`: another answer than 200,
 * or none. `twice`: the services saw it more than once.
 */
export type Figures = Readonly<
  Record<"orders" | "answered" | "unknown" | "existing" | "not_sent" | "other" | "twice", number>
>;

export type Served = Program & { readonly adminUrl: string };

/** Orders that are followed on all sides: the caller's answer, Countersign's log line, the services' requests. */
export class FollowedOrders {
  readonly #ledger = new Ledger();
  readonly #pool: Pool;
  readonly #site: string;

  /** @param url of Countersign, or of another proxy instead */
  constructor(url: string, site: string) {
    this.#pool = new Pool(url);
    this.#site = site;
    onTestFinished(() => this.#pool.destroy());
  }

  get sent(): number {
    return this.#ledger.sent;
  }

  async send(): Promise<void> {
    const number = this.#ledger.open();
    const { told } = await sendOrder(this.#pool, { reference: `order-${number}`, site: this.#site });
    this.#ledger.tell(number, told, "", performance.now());
  }

  /** Sends orders at a steady rate, whatever their results, until `meanwhile` has finished. */
  async during(perSecond: number, meanwhile: () => Promise<void>): Promise<void> {
    const sent: Promise<void>[] = [];
    const timer = setInterval(() => sent.push(this.send()), 1_000 / perSecond);
    await meanwhile().finally(() => clearInterval(timer));
    await Promise.all(sent);
  }

  /** @param bodies the bodies that the services received, in order of arrival */
  figures(bodies: readonly string[], served?: Served): Figures {
    const numbers = bodies.map((body) => Number(/"order-(\d+)"/.exec(body)?.[1]));
    for (const number of numbers) this.#ledger.see(number, "accepted");
    for (const line of served?.events("request_finished") ?? []) {
      this.#ledger.log(Number(line.reference.replace("order-", "")), line);
    }
    this.#ledger.settle(performance.now());
    const { answered, unknown, not_sent, other, left, broken } = this.#ledger.columns;
    return {
      orders: this.sent,
      answered: answered.orders,
      unknown: unknown.orders,
      existing: unknown.arrived,
      not_sent: not_sent.orders,
      other: other.orders + left.orders + broken.orders,
      twice: numbers.length - new Set(numbers).size,
    };
  }

  /** Checks that caller, log, metrics and services agree on every order: no `not_sent` order reached a service, and none came twice. */
  async expectAgreement(bodies: readonly string[], served: Served): Promise<Figures> {
    await expect.poll(() => served.events("request_finished").length).toBe(this.sent);
    const figures = this.figures(bodies, served);
    expect(this.#ledger.disagreements).toEqual([]);
    expect(figures).toMatchObject({ other: 0, twice: 0 });
    const failed = async (outcome: string) =>
      (await scrape(served.adminUrl)).sum("countersign_failures_total", { outcome });
    expect([await failed("unknown"), await failed("not_sent")]).toEqual([figures.unknown, figures.not_sent]);
    return figures;
  }
}
