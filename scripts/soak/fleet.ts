import { setTimeout as sleep } from "node:timers/promises";
import { type Replica, Replicas, type ReplicasOptions, type Shared } from "../../testkit/replicas.ts";
import { type Growth, measureGrowth, type Snapshot, takeSnapshot } from "./memory.ts";
import { settingsWith, tokenTimeoutMs } from "./settings.ts";

/** A replica that was told to end by SIGTERM, and how it did. */
export interface Ending {
  readonly replica: string;
  readonly end: string;
  readonly tookMs: number;
}

export interface FleetOptions extends ReplicasOptions {
  readonly onStarted: (replica: Replica) => void;
  /** It is about to be killed outright. */
  readonly onKilled: (replica: Replica) => void;
}

const longestReloadMs = 10_000;

/** Replicas called a, b, …, and what they have come to hold. Node's inspector is open, so that their garbage can be collected from here. */
export class Fleet extends Replicas {
  readonly #shared: Shared;
  readonly #options: FleetOptions;
  readonly #snapshots = new Map<string, Snapshot[]>();
  readonly #inspectors = new Map<string, string>();
  /** Told when a replica has taken up a configuration. */
  readonly #onApplied: Map<string, () => void>;
  readonly endings: Ending[] = [];
  #started = 0;

  constructor(shared: Shared, options: FleetOptions) {
    const onApplied = new Map<string, () => void>();
    super(shared, {
      ...options,
      more: settingsWith(tokenTimeoutMs),
      nodeArgs: ["--inspect=127.0.0.1:0"],
      onLine(name, line) {
        if (line.event === "config_applied") onApplied.get(name)?.();
        options.onLine(name, line);
      },
    });
    this.#onApplied = onApplied;
    this.#shared = shared;
    this.#options = options;
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

  /** One more process, with its share of the orders from here on. */
  async grow(): Promise<void> {
    this.#started += 1;
    const replica = await this.start(nameOf(this.#started));
    const [inspector = ""] = /ws:\S+/.exec(replica.process.complaints()) ?? [];
    this.#inspectors.set(replica.name, inspector);
    this.#options.onStarted(replica);
  }

  /** SIGTERM, while callers go on; resolves when it has ended. */
  async terminate({ name, process: { pid, ended } }: Replica): Promise<void> {
    this.remove(name);
    const sinceMs = performance.now();
    process.kill(pid, "SIGTERM");
    this.endings.push({ replica: name, end: await ended, tookMs: performance.now() - sinceMs });
  }

  async kill(replica: Replica): Promise<void> {
    this.remove(replica.name);
    this.#options.onKilled(replica);
    await replica.process.end("SIGKILL");
  }

  /** Gives all another configuration; one that does not take it up in time (row 54) is an accident. */
  async reconfigure(tokenMs: number): Promise<void> {
    const taken = this.replicas.map(async ({ name, port, process: { pid, ended } }) => {
      const applied = new Promise<void>((resolve) => this.#onApplied.set(name, resolve));
      this.#shared.writeConfig(name, port, settingsWith(tokenMs));
      process.kill(pid, "SIGHUP");
      const late = sleep(longestReloadMs, "late", { ref: false });
      if ((await Promise.race([applied, ended, late])) !== "late") return;
      this.accidents.push(`${name} did not take up another configuration`);
    });
    await Promise.all(taken);
  }

  /** @returns what was found, replica by replica */
  async takeSnapshots(): Promise<readonly Snapshot[]> {
    return Promise.all(
      this.replicas.map(async ({ name, adminUrl }) => {
        const snapshot = await takeSnapshot(adminUrl, this.#inspectors.get(name) ?? "");
        this.#snapshots.set(name, [...(this.#snapshots.get(name) ?? []), snapshot]);
        return snapshot;
      }),
    );
  }
}

/** a to z, then aa, ab, … */
function nameOf(number: number): string {
  const letter = String.fromCharCode("a".charCodeAt(0) + ((number - 1) % 26));
  return number <= 26 ? letter : `${nameOf(Math.floor((number - 1) / 26))}${letter}`;
}
