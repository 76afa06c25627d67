import { Replicas } from "../../testkit/processes.ts";
import type { Callers } from "./callers.ts";
import type { TokenTimeout } from "./folder.ts";
import { type Growth, measureGrowth, type Snapshot } from "./growth.ts";
import type { LivenessWatch } from "./liveness.ts";
import { type Replica, type ReplicaParts, startReplica } from "./replica.ts";

/** A replica that was told to end by SIGTERM, and how it did. */
export interface Ending {
  readonly replica: string;
  readonly end: string;
  readonly tookMs: number;
}

/** The replicas that are meant to be alive, and what they have come to hold. */
export class Fleet extends Replicas<Replica> {
  readonly #parts: ReplicaParts;
  readonly #onStarted: (replica: Replica) => void;
  readonly #onKilled: (name: string) => void;
  readonly #snapshots = new Map<string, Snapshot[]>();
  readonly endings: Ending[] = [];
  #started = 0;

  constructor(parts: ReplicaParts, callers: Callers, liveness: LivenessWatch, onKilled: (name: string) => void) {
    super((name, { adminUrl }) => {
      callers.expectEnd(name);
      liveness.leave(adminUrl);
    });
    this.#parts = parts;
    this.#onStarted = ({ name, url, adminUrl }) => {
      callers.add(name, url);
      liveness.watch(adminUrl);
    };
    this.#onKilled = onKilled;
  }

  get growths(): readonly Growth[] {
    return [...this.#snapshots].flatMap(([name, snapshots]) => measureGrowth(name, snapshots) ?? []);
  }

  /** The first is never replaced, so that its memory can be followed from beginning to end. */
  get youngest(): Replica {
    const replica = this.replicas.at(-1);
    if (replica === undefined) throw new Error("there is no replica");
    return replica;
  }

  /** A new process, called a, b, …, with its share of the orders from here on. */
  async start(): Promise<void> {
    this.#started += 1;
    const name = nameOf(this.#started);
    const replica = await startReplica(name, this.#parts);
    this.add(name, replica);
    this.#onStarted(replica);
  }

  /** SIGTERM, while callers go on; resolves when it has ended. */
  async terminate(replica: Replica): Promise<void> {
    this.remove(replica.name);
    const sinceMs = performance.now();
    process.kill(replica.process.pid, "SIGTERM");
    const end = await replica.process.ended;
    this.endings.push({ replica: replica.name, end, tookMs: performance.now() - sinceMs });
  }

  async kill(replica: Replica): Promise<void> {
    this.remove(replica.name);
    this.#onKilled(replica.name);
    await replica.process.end("SIGKILL");
  }

  async reconfigure(tokenTimeout: TokenTimeout): Promise<void> {
    const taken = this.replicas.map(async ({ name, reconfigure }) => {
      if (!(await reconfigure(tokenTimeout))) this.accidents.push(`${name} did not take up another configuration`);
    });
    await Promise.all(taken);
  }

  /** @returns what was found, replica by replica */
  async takeSnapshots(): Promise<readonly Snapshot[]> {
    return Promise.all(
      this.replicas.map(async ({ name, takeSnapshot }) => {
        const snapshot = await takeSnapshot();
        this.#snapshots.set(name, [...(this.#snapshots.get(name) ?? []), snapshot]);
        return snapshot;
      }),
    );
  }

  countDescriptors(): Promise<readonly number[]> {
    return Promise.all(this.replicas.map(({ countDescriptors }) => countDescriptors()));
  }
}

/** a to z, then aa, ab, … */
function nameOf(number: number): string {
  const letter = String.fromCharCode("a".charCodeAt(0) + ((number - 1) % 26));
  return number <= 26 ? letter : `${nameOf(Math.floor((number - 1) / 26))}${letter}`;
}
