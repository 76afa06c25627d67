import type { Clock } from "../../model/clock.ts";
import type { RedisEvent } from "../../model/events.ts";
import { formatTime } from "./format-time.ts";
import type { RedisStatus } from "./snapshot.ts";

/** Whether each Redis server in use is there. */
export class RedisStats {
  readonly #clock: Clock;
  #nodes = new Map<string, RedisStatus>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  follow(nodes: readonly string[]): void {
    this.#nodes = new Map(nodes.map((node) => [node, this.#nodes.get(node) ?? unheardOf(node)]));
  }

  note(event: RedisEvent): void {
    if (event.kind === "redis_failed" || !this.#nodes.has(event.node)) return;
    const failure = event.kind === "redis_down" ? event.failure : undefined;
    const since = formatTime(this.#clock.wallMs());
    this.#nodes.set(event.node, { node: event.node, isUp: event.kind === "redis_up", since, failure });
  }

  view(): RedisStatus[] {
    return [...this.#nodes.values()];
  }
}

function unheardOf(node: string): RedisStatus {
  return { node, isUp: undefined, since: undefined, failure: undefined };
}
