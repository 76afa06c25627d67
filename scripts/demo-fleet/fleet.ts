import type { Serving } from "../../testkit/processes.ts";
import { Refusal } from "./refusal.ts";
import { type ReplicaParts, startReplica } from "./replica.ts";

/** The replicas that are meant to be alive. */
export class Fleet {
  readonly #parts: ReplicaParts;
  readonly #replicas = new Map<string, Serving>();
  #accident: string | undefined;

  constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  get names(): readonly string[] {
    return [...this.#replicas.keys()];
  }

  /** The first of them that ended although nobody asked it to. */
  get accident(): string | undefined {
    return this.#accident;
  }

  async add(name: string): Promise<void> {
    const replica = await startReplica(name, this.#parts);
    this.#replicas.set(name, replica);
    void replica.process.ended.then((end) => {
      if (this.#replicas.get(name) === replica) this.#accident ??= `replica ${name} ended by itself (${end})`;
    });
  }

  find(name: string): Serving {
    const replica = this.#replicas.get(name);
    if (replica === undefined) throw new Refusal(`there is no replica ${name}`);
    return replica;
  }

  /** It is about to be ended, so that this is no accident. */
  remove(name: string): Serving {
    const replica = this.find(name);
    this.#replicas.delete(name);
    return replica;
  }

  clear(): void {
    this.#replicas.clear();
  }
}
