import type { Cancel, Clock } from "../../model/clock.ts";
import type { Report } from "../../model/events.ts";
import type { RedisConnection } from "./connection.ts";
import { readServerFacts, type ServerFacts } from "./server-facts.ts";

const pauseMs = 60_000;

/**
 * Looks each minute whether a full Redis drops keys before their time is over: an order whose key of Countersign-Once is dropped can
 * be sent again. A Redis that refuses INFO says nothing. In a Cluster each look asks one of its nodes.
 */
export class EvictionWatch {
  readonly #connection: Pick<RedisConnection, "run">;
  readonly #clock: Clock;
  readonly #report: Report;
  /** What was evicted before, by the server's run id: each start of a server begins at 0. */
  readonly #evictedBefore = new Map<string, number>();
  #hasWarned = false;
  #cancel: Cancel;

  constructor(connection: Pick<RedisConnection, "run">, clock: Clock, report: Report) {
    this.#connection = connection;
    this.#clock = clock;
    this.#report = report;
    this.#cancel = clock.after(0, () => this.#look());
  }

  close(): void {
    this.#cancel();
  }

  #look(): void {
    this.#cancel = this.#clock.after(pauseMs, () => this.#look());
    this.#connection
      .run("eviction", (client) => readServerFacts(client))
      .then(
        (facts) => this.#judge(facts),
        // What keeps Redis from answering is told by the connection.
        () => {},
      );
  }

  #judge(facts: ServerFacts | undefined): void {
    if (facts?.evictionPolicy === undefined) return;
    const { evictionPolicy: policy, evictedKeys, runId = "" } = facts;
    const evicted = evictedKeys - (this.#evictedBefore.get(runId) ?? evictedKeys);
    this.#evictedBefore.set(runId, evictedKeys);
    const isNew = policy !== "noeviction" && !this.#hasWarned;
    if (!isNew && evicted <= 0) return;
    this.#hasWarned = true;
    this.#report({ kind: "redis_evicts", node: "cache", policy, evicted: Math.max(0, evicted) });
  }
}
