import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../src/model/errors.ts";
import type { RefreshReason } from "../../src/model/events.ts";
import { type Serving, startServing } from "../../testkit/processes.ts";
import { type Growth, measureGrowth, type Snapshot, takeSnapshot } from "./memory.ts";
import { tokenTimeoutMs } from "./settings.ts";
import type { Shared } from "./shared.ts";

/** One proxy process: the built command. */
export interface Replica extends Serving {
  readonly name: string;
}

/** The lines of a replica's log that the soak uses, as `countersign serve` writes them. */
export type LogLine =
  | {
      readonly event: "request_finished";
      readonly reference?: string;
      readonly status: number;
      readonly outcome: Outcome;
    }
  | { readonly event: "token_requested"; readonly reason: RefreshReason; readonly result: string }
  | { readonly event: "config_applied" }
  | { readonly event: "defect"; readonly error: string };

const heard = /"event":"(request_finished|token_requested|config_applied|defect)"/;

/** A replica that got SIGTERM, and how it ended. */
export interface Ending {
  readonly replica: string;
  readonly end: string;
  readonly tookMs: number;
}

export interface FleetOptions {
  readonly onLine: (replica: string, line: LogLine) => void;
  /** Receives every line of the log as it is written. */
  readonly onText?: (replica: string, text: string) => void;
  readonly onStarted: (replica: Replica) => void;
  /** No calls go to the replica any more, and it may be told to end. */
  readonly onRemoved: (replica: Replica) => void;
  /** The replica is about to be killed. */
  readonly onKilled: (replica: Replica) => void;
}

const longestReloadMs = 10_000;

/**
 * The replicas that should be running, called a, b, …, and their memory. Their Node inspectors are open, so that their
 * garbage can be collected from here.
 */
export class Fleet {
  readonly #alive = new Map<string, Replica>();
  readonly #shared: Shared;
  readonly #options: FleetOptions;
  readonly #snapshots = new Map<string, Snapshot[]>();
  readonly #inspectors = new Map<string, string>();
  /** Called when a replica has applied a configuration. */
  readonly #onApplied = new Map<string, () => void>();
  readonly endings: Ending[] = [];
  /** Replicas' wrong behaviour, in a sentence each. */
  readonly accidents: string[] = [];
  #started = 0;

  constructor(shared: Shared, options: FleetOptions) {
    this.#shared = shared;
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...this.#alive.keys()];
  }

  get replicas(): readonly Replica[] {
    return [...this.#alive.values()];
  }

  get growths(): readonly Growth[] {
    return [...this.#snapshots].flatMap(([name, snapshots]) => measureGrowth(name, snapshots) ?? []);
  }

  /** The one to replace. The first replica always stays, so that its memory can be followed from beginning to end. */
  get youngest(): Replica {
    const replica = this.replicas.at(-1);
    if (replica === undefined) throw new Error("there is no replica");
    return replica;
  }

  /**
   * Starts one more process, which gets its share of the orders from here on.
   * @throws Error with the process's output, if it does not start
   */
  async grow(): Promise<void> {
    this.#started += 1;
    const name = nameOf(this.#started);
    const serving = await startServing({
      children: this.#shared.children,
      writeConfig: (port) => this.#shared.writeConfig(name, port, tokenTimeoutMs),
      nodeArgs: ["--inspect=127.0.0.1:0"],
      onLine: (text) => this.#hear(name, text),
    });
    const replica = { ...serving, name };
    this.#alive.set(name, replica);
    void replica.process.ended.then((end) => {
      if (!this.#alive.has(name)) return;
      this.#remove(replica);
      this.accidents.push(`replica ${name} ended by itself (${end}) ${replica.process.complaints()}`.trim());
    });
    const [inspector = ""] = /ws:\S+/.exec(replica.process.complaints()) ?? [];
    this.#inspectors.set(name, inspector);
    this.#options.onStarted(replica);
  }

  /** Sends SIGTERM, while callers continue; resolves when the replica has ended. */
  async terminate(replica: Replica): Promise<void> {
    const { pid, ended } = replica.process;
    this.#remove(replica);
    const sinceMs = performance.now();
    process.kill(pid, "SIGTERM");
    this.endings.push({ replica: replica.name, end: await ended, tookMs: performance.now() - sinceMs });
  }

  async kill(replica: Replica): Promise<void> {
    this.#remove(replica);
    this.#options.onKilled(replica);
    await replica.process.end("SIGKILL");
  }

  /** Gives all replicas another configuration; a replica that does not apply it in time is an accident. */
  async reconfigure(tokenMs: number): Promise<void> {
    const taken = this.replicas.map(async ({ name, port, process: { pid, ended } }) => {
      const applied = new Promise<void>((resolve) => this.#onApplied.set(name, resolve));
      this.#shared.writeConfig(name, port, tokenMs);
      process.kill(pid, "SIGHUP");
      const late = sleep(longestReloadMs, "late", { ref: false });
      if ((await Promise.race([applied, ended, late])) !== "late") return;
      this.accidents.push(`${name} did not take up another configuration`);
    });
    await Promise.all(taken);
  }

  /** @returns a snapshot of each replica */
  async takeSnapshots(): Promise<readonly Snapshot[]> {
    return Promise.all(
      this.replicas.map(async ({ name, adminUrl }) => {
        const snapshot = await takeSnapshot(adminUrl, this.#inspectors.get(name) ?? "");
        this.#snapshots.set(name, [...(this.#snapshots.get(name) ?? []), snapshot]);
        return snapshot;
      }),
    );
  }

  #hear(name: string, text: string): void {
    this.#options.onText?.(name, text);
    if (!heard.test(text)) return;
    const line: LogLine = JSON.parse(text);
    if (line.event === "config_applied") this.#onApplied.get(name)?.();
    this.#options.onLine(name, line);
  }

  /** From here on the replica's end is no accident. */
  #remove(replica: Replica): void {
    this.#alive.delete(replica.name);
    this.#options.onRemoved(replica);
  }
}

/** a to z, then aa, ab, … */
function nameOf(number: number): string {
  const letter = String.fromCharCode("a".charCodeAt(0) + ((number - 1) % 26));
  return number <= 26 ? letter : `${nameOf(Math.floor((number - 1) / 26))}${letter}`;
}
