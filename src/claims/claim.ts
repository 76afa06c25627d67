import type { Clock } from "../model/clock.ts";
import { type LateWrite, LateWrites } from "./late-writes.ts";
import { type ClaimRecords, type NextRecord, NotWritten, type RecordTerms, type Swapped } from "./records.ts";

/** What is claimed, by whom, and for how long. */
export interface ClaimTerms extends RecordTerms {
  /** Unique to this claim. */
  readonly holder: string;
  /** What others are told of the claim; letters, digits, `-`, `_` and `.`. */
  readonly note: string;
  /** Longer than the work can take that is claimed. */
  readonly leaseMs: number;
  /** Whether others may claim it when its lease is over, and its holder does not say within `takeoverMs` how it ended. */
  readonly isTakenOver: boolean;
}

type ClaimResult = Claimed | FoundClaim;

/** `taken_over`: its first holder may have done the work. `forgotten`: it may have been claimed before. */
interface Claimed {
  readonly kind: "claimed";
  readonly doubt?: "taken_over" | "forgotten";
}

/** The claim that another has made. */
export interface FoundClaim {
  readonly kind: "held" | "settled";
  readonly holder: string;
  readonly note: string;
  /** When it was made, in ms since 1970 by the store's clock. */
  readonly atMs: number;
  /** Of a held one: its lease is over. */
  readonly isOver: boolean;
  /** Of a settled one. */
  readonly value: string;
}

/**
 * Lets one of several holders, in whichever process, do a piece of work. A claim is held until it is settled or released. Its
 * lease ends by itself, since its process may die; the claim stays, for the holder may live and be unable to say how it ended.
 */
export interface ClaimStore {
  open(terms: ClaimTerms): Claim;
}

/** A late write is tried each second, and a living holder finds its store again within a few. */
export const takeoverMs = 15_000;
/** No lease is so long: the store's clock has been set back. */
const longestLeaseMs = 3_600_000;
const mostSwaps = 5;

interface ClaimParts {
  readonly records: ClaimRecords;
  readonly late: LateWrites;
  readonly clock: Clock;
}

/** The claims of one process over one store. */
export class Claims implements ClaimStore {
  readonly #parts: ClaimParts;

  constructor(records: ClaimRecords, clock: Clock) {
    this.#parts = { records, late: new LateWrites(clock), clock };
  }

  open(terms: ClaimTerms): Claim {
    return new Claim(terms, this.#parts);
  }

  /** What is still to be written is lost. */
  close(): void {
    this.#parts.late.close();
  }
}

/** One holder's claim. Each method may fail with an error of any kind, and is answered within a second. */
export class Claim {
  readonly #terms: ClaimTerms;
  readonly #parts: ClaimParts;
  readonly #name: string;
  /** What stands in the store, as far as is known. */
  #line = "";

  constructor(terms: ClaimTerms, parts: ClaimParts) {
    this.#terms = terms;
    this.#parts = parts;
    this.#name = `${terms.kind} ${terms.key}`;
  }

  /** Claims what nobody has claimed. A claim that failed is released as soon as the store takes writes. */
  async make(): Promise<ClaimResult> {
    const { bornMs, isTakenOver } = this.#terms;
    await this.#parts.late.resume(this.#name);
    const swapped = await this.#hold("");
    if (swapped.isMade) {
      const isForgotten = bornMs !== undefined && bornMs < this.#parts.records.rememberedSinceMs();
      return { kind: "claimed", ...(isForgotten ? { doubt: "forgotten" } : {}) };
    }
    const record = readRecord(swapped.line);
    if (record === undefined) throw new Error("a claim in the store is damaged");
    const found = foundOf(record, swapped.nowMs);
    return found.isOver && isTakenOver ? this.#takeOver(record, swapped.line, found) : found;
  }

  /**
   * Says how the work ended: nobody does it again, whoever holds the claim by now. A later value of the same holder counts. What
   * cannot be written now is written as soon as the store takes writes, if this process lives so long.
   */
  settle(value: string): Promise<void> {
    return this.#parts.late.write(this.#lateWrite((found) => settled(found, this.#terms, value)));
  }

  /** The work was not done: others may claim it. Ends this claim and no other; written late like `settle`. */
  release(): Promise<void> {
    return this.#parts.late.write(this.#lateRelease());
  }

  /**
   * In two steps. The first one says that the claim will be taken over. Since it is written, the store takes writes; so a holder
   * that lives and was unable to say how it ended does so before the second step.
   */
  async #takeOver(record: Record, line: string, found: FoundClaim): Promise<ClaimResult> {
    const { holder, note, atMs } = record;
    const announcement = { atMs, leaseMs: takeoverMs, content: `ending ${holder} ${note}` };
    const isAnnounced = record.state === "ending";
    try {
      const swapped = await (isAnnounced ? this.#hold(line) : this.#swap(line, announcement));
      return isAnnounced && swapped.isMade ? { kind: "claimed", doubt: "taken_over" } : found;
    } catch (error) {
      // While the store takes no writes, the holder could not say how it ended either.
      if (error instanceof NotWritten) return found;
      throw error;
    }
  }

  async #hold(expected: string): Promise<Swapped> {
    const { holder, note, leaseMs } = this.#terms;
    try {
      const swapped = await this.#swap(expected, { atMs: undefined, leaseMs, content: `held ${holder} ${note}` });
      if (swapped.isMade) this.#line = swapped.line;
      return swapped;
    } catch (error) {
      // It may have been made, or be made yet.
      if (!(error instanceof NotWritten)) this.#parts.late.keep(this.#lateRelease());
      throw error;
    }
  }

  #lateRelease(): LateWrite {
    return this.#lateWrite((found) => released(found, this.#terms));
  }

  #lateWrite(decide: Decide): LateWrite {
    const { holder, lifetimeMs } = this.#terms;
    const untilMs = this.#parts.clock.nowMs() + lifetimeMs;
    return { name: this.#name, id: `${this.#name} ${holder}`, untilMs, send: () => this.#change(decide) };
  }

  /** Looks, decides and writes until nobody has written in between. */
  async #change(decide: Decide): Promise<void> {
    for (let swaps = 0; swaps < mostSwaps; swaps += 1) {
      const found = readRecord(this.#line);
      // What is damaged, or of another form, is left alone.
      const next = this.#line !== "" && found === undefined ? "stays" : decide(found);
      if (next === "stays") return;
      const swapped = await this.#swap(this.#line, next);
      this.#line = swapped.line;
      if (swapped.isMade) return;
    }
    throw new Error("a claim in the store changes too often");
  }

  #swap(expected: string, next: NextRecord | undefined): Promise<Swapped> {
    return this.#parts.records.swap(this.#terms, expected, next);
  }
}

/** What is to stand there in place of what is found. */
type Decide = (found: Record | undefined) => NextRecord | undefined | "stays";

function settled(found: Record | undefined, { holder, note }: ClaimTerms, value: string): ReturnType<Decide> {
  const isOwn = found?.holder === holder;
  if (found?.state === "settled" && !isOwn) return "stays";
  return { atMs: isOwn ? found.atMs : undefined, leaseMs: 0, content: `settled ${holder} ${note} ${value}` };
}

function released(found: Record | undefined, { holder }: ClaimTerms): ReturnType<Decide> {
  if (found === undefined) return undefined;
  return found.holder === holder && found.state !== "settled" ? undefined : "stays";
}

/** `held` by its holder; `ending`: somebody waits to take it over; `settled`: its work is done. */
interface Record extends Pick<FoundClaim, "holder" | "note" | "atMs" | "value"> {
  readonly state: "held" | "ending" | "settled";
  readonly untilMs: number;
}

const form = /^(\d{1,15}) (\d{1,15}) (held|ending|settled) ([\w-]{1,64}) ([\w.-]{1,64})(?: (.*))?$/s;

function readRecord(line: string): Record | undefined {
  const [, at, until, state, holder, note, value = ""] = form.exec(line) ?? [];
  if (holder === undefined || note === undefined) return undefined;
  return { state: state as Record["state"], holder, note, value, atMs: Number(at), untilMs: Number(until) };
}

function foundOf({ state, untilMs, holder, note, atMs, value }: Record, nowMs: number): FoundClaim {
  const isSettled = state === "settled";
  const isOver = !isSettled && (nowMs >= untilMs || untilMs > nowMs + longestLeaseMs);
  return { kind: isSettled ? "settled" : "held", holder, note, atMs, value, isOver };
}
