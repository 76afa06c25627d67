import { EventEmitter } from "node:events";
import { createLogging } from "../src/adapters/log/logger.ts";
import type { Event, Report } from "../src/model/events.ts";
import { searchOutflow } from "./leaks/outflow.ts";

type Kind = Event["kind"];
type Of<K extends Kind> = Extract<Event, { kind: K }>;

/** Collects events, so that tests can check them and wait for them instead of sleeping. */
export class EventRecorder {
  readonly events: Event[] = [];
  readonly #emitter = new EventEmitter().setMaxListeners(0);

  readonly #logging = createLogging("trace", { write: (line) => searchOutflow("log line", line) });

  readonly report: Report = (event) => {
    this.events.push(event);
    searchOutflow("event", JSON.stringify(event));
    this.#logging.report(event);
    this.#emitter.emit("event");
  };

  of<K extends Kind>(kind: K): Of<K>[] {
    return this.events.filter((event): event is Of<K> => event.kind === kind);
  }

  count(kind: Kind): number {
    return this.of(kind).length;
  }

  /** The n-th event of a kind (from 1) that satisfies the condition, as soon as it has happened. */
  async nth<K extends Kind>(kind: K, n: number, isMeant: (event: Of<K>) => boolean = () => true): Promise<Of<K>> {
    for (;;) {
      const found = this.of(kind).filter(isMeant)[n - 1];
      if (found !== undefined) return found;
      await new Promise((resolve) => this.#emitter.once("event", resolve));
    }
  }
}
