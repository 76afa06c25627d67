import type { RefreshReason } from "../../src/model/events.ts";
import type { RedisFailureKind } from "../../src/model/redis-access.ts";
import { type Children, Replicas, type Serving, startServing } from "../../testkit/processes.ts";
import type { Folder, Places } from "./folder.ts";
import { Refusal } from "./refusal.ts";

/** The lines of a replica's log that the story is told by, as `countersign serve` writes them. */
export type LogLine =
  | { readonly event: "token_requested"; readonly reason: RefreshReason; readonly result: string }
  | { readonly event: "token_adopted"; readonly issuedHere: boolean }
  | { readonly event: "refresh_lock_tried"; readonly result: "acquired" | "held" | "unavailable" }
  | { readonly event: "redis_failed"; readonly failure: RedisFailureKind }
  | { readonly event: "redis_down" }
  | { readonly event: "redis_up" };

const told = /"event":"(token_requested|token_adopted|refresh_lock_tried|redis_failed|redis_down|redis_up)"/;

export interface ReplicaParts {
  readonly children: Children;
  readonly folder: Folder;
  readonly places: Places;
  readonly onLine: (replica: string, line: LogLine) => void;
}

/** Proxy processes: the built command, as a user starts it. */
export class Fleet extends Replicas<Serving> {
  readonly #parts: ReplicaParts;

  constructor(parts: ReplicaParts) {
    super();
    this.#parts = parts;
  }

  /** @throws Refusal with what the process said, when it does not start */
  async start(name: string): Promise<void> {
    const { children, folder, places, onLine } = this.#parts;
    const starting = startServing({
      children,
      writeConfig: (port) => folder.writeConfig(name, port, places),
      onLine: (text) => {
        if (told.test(text)) onLine(name, JSON.parse(text));
      },
    });
    const replica = await starting.catch((error: Error) => {
      throw new Refusal(`Replica ${name}: ${error.message}`);
    });
    this.add(name, replica);
  }
}
