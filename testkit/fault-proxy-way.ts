import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Faults of one direction of a connection. */
export interface WayFaults {
  /** Everything that is sent arrives this much later. */
  readonly latencyMs: number;
  /** Bandwidth of each connection. */
  readonly bytesPerSecond: number;
  /** Most bytes in one write; the receiver reads each piece before the next one comes. */
  readonly sliceBytes: number;
  /** Nothing arrives, neither bytes nor an end. After a black hole everything continues, since TCP sends lost packets again. */
  readonly blackHole: boolean;
  /** Breaks both directions as soon as this direction has passed on this many bytes; 0: from the start. */
  readonly breakAfter: { readonly bytes: number; readonly how: BreakKind } | undefined;
}

/** An orderly end (FIN) for both sides, or a reset (RST) for both. */
export type BreakKind = "truncate" | "reset";

export const noFaults: WayFaults = {
  latencyMs: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  sliceBytes: Number.POSITIVE_INFINITY,
  blackHole: false,
  breakAfter: undefined,
};

/** An action of one side. */
type Deed = { readonly atMs: number } & (
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "reset" }
);

export interface WayParts {
  readonly from: Socket;
  readonly to: Socket;
  /** Read again for each piece, so that a change takes effect immediately. */
  readonly faults: () => WayFaults;
  /** Emits `changed` when the faults change. */
  readonly changes: EventEmitter;
  /** Aborted when the connection is over. */
  readonly signal: AbortSignal;
  readonly breakOff: (how: BreakKind) => void;
  readonly count: (what: "received" | "passed", bytes: number) => void;
}

/** When more bytes than this wait to be passed on, the sender is no longer read. */
const mostHeldBytes = 1_048_576;
/** How many times a second a limited bandwidth is distributed. */
const sharesPerSecond = 50;

/** Passes on the actions of one side to the other side, in order, subject to the present faults. */
export async function travelOneWay(parts: WayParts): Promise<void> {
  const deeds = watch(parts);
  const way = new Way(parts);
  try {
    await way.breakIfDue();
    for (;;) await way.passOn(await deeds.next());
  } catch (error) {
    if (!parts.signal.aborted) throw error;
  }
}

/** Collects the actions of a side until each is passed on. */
function watch({ from, signal, count }: WayParts) {
  const arrivals = new EventEmitter();
  const waiting: Deed[] = [];
  let heldBytes = 0;
  const add = (deed: Deed) => {
    waiting.push(deed);
    arrivals.emit("deed");
  };
  from.on("data", (bytes) => {
    count("received", bytes.length);
    if (signal.aborted) return;
    heldBytes += bytes.length;
    if (heldBytes > mostHeldBytes) from.pause();
    add({ kind: "bytes", bytes, atMs: performance.now() });
  });
  from.on("end", () => add({ kind: "end", atMs: performance.now() }));
  from.on("error", () => add({ kind: "reset", atMs: performance.now() }));
  return {
    async next(): Promise<Deed> {
      for (let deed = waiting.shift(); ; deed = waiting.shift()) {
        if (deed?.kind === "bytes") heldBytes -= deed.bytes.length;
        if (deed !== undefined && heldBytes <= mostHeldBytes) from.resume();
        if (deed !== undefined) return deed;
        await once(arrivals, "deed", { signal });
      }
    },
  };
}

class Way {
  readonly #parts: WayParts;
  #passedBytes = 0;
  #freeAtMs = 0;

  constructor(parts: WayParts) {
    this.#parts = parts;
  }

  async passOn(deed: Deed): Promise<void> {
    const { faults, to, breakOff } = this.#parts;
    await this.#until(deed.atMs + faults().latencyMs);
    if (deed.kind === "bytes") return this.#pass(deed.bytes);
    await this.#whileHeld();
    if (deed.kind === "end") to.end();
    else breakOff("reset");
  }

  async breakIfDue(): Promise<void> {
    const { faults, breakOff, signal } = this.#parts;
    const { breakAfter } = faults();
    if (breakAfter === undefined || this.#passedBytes < breakAfter.bytes) return;
    // If a reset comes together with bytes, a Node program sees an orderly end (libuv, uv__stream_io).
    if (breakAfter.how === "reset" && this.#passedBytes > 0) await untilRead();
    breakOff(breakAfter.how);
    signal.throwIfAborted();
  }

  async #pass(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      await this.#whileHeld();
      await this.breakIfDue();
      const { sliceBytes, bytesPerSecond, breakAfter } = this.#parts.faults();
      const share = Math.ceil(bytesPerSecond / sharesPerSecond);
      const untilBreak = (breakAfter?.bytes ?? Number.POSITIVE_INFINITY) - this.#passedBytes;
      const size = Math.min(rest.length, sliceBytes, share, untilBreak);
      this.#freeAtMs = Math.max(this.#freeAtMs, performance.now()) + (size / bytesPerSecond) * 1_000;
      await this.#until(this.#freeAtMs);
      await this.#write(rest.subarray(0, size));
      rest = rest.subarray(size);
      await this.breakIfDue();
      if (sliceBytes !== Number.POSITIVE_INFINITY) await untilRead();
    }
  }

  async #write(bytes: Buffer): Promise<void> {
    const { to, count, signal } = this.#parts;
    // A closed side reports that by its own events.
    await new Promise<void>((resolve) => to.write(bytes, () => resolve()));
    signal.throwIfAborted();
    this.#passedBytes += bytes.length;
    count("passed", bytes.length);
  }

  async #whileHeld(): Promise<void> {
    const { faults, changes, signal } = this.#parts;
    while (faults().blackHole) await once(changes, "changed", { signal });
  }

  async #until(atMs: number): Promise<void> {
    for (let leftMs = atMs - performance.now(); leftMs > 0; leftMs = atMs - performance.now()) {
      await sleep(Math.ceil(leftMs), undefined, { signal: this.#parts.signal });
    }
  }
}

/** Two turns of the event loop: a reader in this process has had its chance in between. */
async function untilRead(): Promise<void> {
  await new Promise(setImmediate);
  await new Promise(setImmediate);
}
