import type { Clock } from "../model/clock.ts";
import { type LateWrite, LateWrites } from "./late-writes.ts";

/** What is claimed, by whom, and for how long. */
export interface ClaimTerms {
  readonly kind: "once" | "callback";
  /** A digest of the claimed once key or callback; the store contains it. */
  readonly key: string;
  /** Unique to this claim. */
  readonly holder: string;
  /** What others can read of the claim; letters, digits, `-`, `_` and `.`. */
  readonly note: string;
  /** Longer than the claimed work can take. */
  readonly leaseMs: number;
  /** How long the claim and its result are remembered. */
  readonly lifetimeMs: number;
  /** Whether others may take the claim over after its lease, if the holder does not record the result within `takeoverMs`. */
  readonly isTakenOver: boolean;
  /** No claim of the same key can be older than this; by the wall clock. Undefined: not known. */
  readonly bornMs?: number;
}

/**
 * The store of claims: one line of text for each name. A line is `<at> <until> <content>`, both moments in ms by the store's
 * own clock. The store only compares, sets and forgets lines. `Claim` alone interprets them.
 */
export interface ClaimRecords {
  /**
   * Replaces the line of a name, if it is the expected one, in one step for all processes.
   * @param expected the whole line; empty: there is no line
   * @param next undefined: the line is removed
   * @throws NotWritten if the line is certainly unchanged; after any other error it may have been replaced, or may still be
   */
  swap(
    terms: Pick<ClaimTerms, "kind" | "key" | "lifetimeMs" | "bornMs">,
    expected: string,
    next: NextRecord | undefined,
  ): Promise<Swapped>;
  /** A claim with an earlier `bornMs` may have been forgotten before its lifetime was over. By the wall clock. */
  rememberedSinceMs(): number;
}

interface NextRecord {
  /** Undefined: now. */
  readonly atMs: number | undefined;
  /** From now to `until`. */
  readonly leaseMs: number;
  readonly content: string;
  /** Nobody waits for it later: if it reaches the store after its sender has given up, it is not written. */
  readonly isClaim?: boolean;
}

interface Swapped {
  readonly isMade: boolean;
  /** The line in the store now; empty: none. */
  readonly line: string;
  readonly nowMs: number;
}

/** The store is unreachable or refuses writes; nothing was written, and nothing will be. */
export class NotWritten extends Error {
  override readonly name = "NotWritten";
}

type ClaimResult = Claimed | FoundClaim;

/** `taken_over`: the former holder may have done the work. `forgotten`: an earlier claim may have been forgotten. */
interface Claimed {
  readonly kind: "claimed";
  readonly doubt?: "taken_over" | "forgotten";
}

/** The claim of another holder. `settled`: its work is done. */
export interface FoundClaim {
  readonly kind: "held" | "settled";
  readonly holder: string;
  readonly note: string;
  /** When it was made, in ms by the store's clock; in Redis since 1970. */
  readonly atMs: number;
  /** When a held claim's lease ends, by the same clock. */
  readonly untilMs: number;
  /** A held claim's lease is over. */
  readonly isOver: boolean;
  /** Somebody waits to take a held claim over. */
  readonly isEnding: boolean;
  /** The result that a settled claim keeps; empty for a held one. */
  readonly value: string;
  /** Settled by a person who has looked for the effect of the work and found it. Its holder changes it no more. */
  readonly isFound: boolean;
}

/** A late write is tried each second, and a running holder reaches its store again within a few seconds. */
export const takeoverMs = 15_000;
/** No lease is longer: one that seems so shows that the store's clock has been set back. */
const longestLeaseMs = 3_600_000;
const mostSwaps = 5;

interface ClaimParts {
  readonly records: ClaimRecords;
  readonly late: LateWrites;
  readonly clock: Clock;
}

/**
 * The claims of one process in one store. Of all holders, in all processes, one does a piece of work. A claim is held until
 * it is settled or released. Its lease ends by itself, since its process may die. The claim stays even then: its holder may
 * still run, and be unable to record its result.
 */
export class Claims {
  readonly #parts: ClaimParts;

  constructor(records: ClaimRecords, clock: Clock) {
    this.#parts = { records, late: new LateWrites(clock), clock };
  }

  open(terms: ClaimTerms): Claim {
    return new Claim(terms, this.#parts);
  }

  /**
   * The claim of this key as it stands in the store; undefined if there is none. Writes nothing: not even what this process
   * still has to write.
   */
  async find({ kind, key }: Pick<ClaimTerms, "kind" | "key">): Promise<FoundClaim | undefined> {
    // No line is replaced by no line.
    const standing = await this.#parts.records.swap({ kind, key, lifetimeMs: 0 }, "", undefined);
    return standing.line === "" ? undefined : readOrFail(standing);
  }

  /**
   * Settles a claim of another's work, which nobody does any more: a person has looked for its effect.
   * @param decide the value to keep if the effect was found; `release` if there is none; undefined: the claim stays. It may throw
   * @returns the claim as it was found; undefined if the key has none of this holder
   */
  async decide(
    terms: Pick<ClaimTerms, "kind" | "key" | "holder" | "lifetimeMs">,
    decide: (found: FoundClaim) => Decision,
  ): Promise<FoundClaim | undefined> {
    const { records, late } = this.#parts;
    // A result that this process has still to write would replace the decision.
    await late.resume(nameOf(terms));
    let standing = await records.swap(terms, "", undefined);
    let released: FoundClaim | undefined;
    for (let swaps = 0; swaps < mostSwaps; swaps += 1) {
      // The answer to a release may have been lost.
      if (standing.line === "") return released;
      const found = readOrFail(standing);
      if (found.holder !== terms.holder) return undefined;
      const decision = decide(found);
      if (decision === undefined) return found;
      const { holder, note, atMs } = found;
      if (decision === "release") released = found;
      standing = await records.swap(
        terms,
        standing.line,
        decision === "release" ? undefined : { atMs, leaseMs: 0, content: `found ${holder} ${note} ${decision.value}` },
      );
      if (standing.isMade) return found;
    }
    throw changesTooOften();
  }

  /** Results that the store has not taken: they are tried again, or were dropped. */
  get unwritten(): number {
    return this.#parts.late.unmade;
  }

  /** Makes the writes that are still to be made, and drops those that the store does not accept within two seconds. */
  close(): Promise<void> {
    return this.#parts.late.close();
  }
}

export type ClaimStore = Pick<Claims, "open" | "find" | "decide">;

type Decision = { readonly value: string } | "release" | undefined;

/** One holder's claim. Each method may fail with an error of any kind, and ends within a second. */
export class Claim {
  readonly #terms: ClaimTerms;
  readonly #parts: ClaimParts;
  readonly #name: string;
  /** The line in the store, as far as it is known. */
  #known: Standing = { line: "", nowMs: 0 };

  constructor(terms: ClaimTerms, parts: ClaimParts) {
    this.#terms = terms;
    this.#parts = parts;
    this.#name = nameOf(terms);
  }

  /** Makes the claim, unless somebody has. If the result is not known, the claim is released as soon as the store accepts writes. */
  async make(): Promise<ClaimResult> {
    const { bornMs, isTakenOver } = this.#terms;
    await this.#parts.late.resume(this.#name);
    const swapped = await this.#hold("");
    if (swapped.isMade) {
      const isForgotten = bornMs !== undefined && bornMs < this.#parts.records.rememberedSinceMs();
      return { kind: "claimed", ...(isForgotten ? { doubt: "forgotten" } : {}) };
    }
    const found = readOrFail(swapped);
    return found.isOver && isTakenOver ? this.#takeOver(found, swapped.line) : found;
  }

  /**
   * Records the result of the work: nobody does it again, whoever holds the claim by now. A later value of the same holder
   * replaces it. If the store accepts no writes now, the value is written once it does, if this process still runs.
   * @param later a shorter value for that late write, unless the whole one has arrived after all
   */
  settle(value: string, later?: string): Promise<void> {
    const settle = this.#lateWrite((found) => settled(found, this.#terms, value));
    if (later === undefined) return this.#parts.late.write(settle);
    const decideLater: Decide = (found) => (found?.kind === "settled" ? "stays" : settled(found, this.#terms, later));
    return this.#parts.late.write(settle, this.#lateWrite(decideLater));
  }

  /** The work was not done: others may claim it. Ends this holder's claim and no other; written late like `settle`. */
  release(): Promise<void> {
    return this.#parts.late.write(this.#lateRelease());
  }

  /**
   * Takes over in two steps. The first writes that the claim will be taken over. That write shows that the store accepts
   * writes: a holder that runs, and was unable to record its result, does so before the second step.
   */
  async #takeOver(found: FoundClaim, line: string): Promise<ClaimResult> {
    const { holder, note, atMs, isEnding } = found;
    const announcement = { atMs, leaseMs: takeoverMs, content: `ending ${holder} ${note}` };
    try {
      const swapped = await (isEnding ? this.#hold(line) : this.#swap(line, announcement));
      return isEnding && swapped.isMade ? { kind: "claimed", doubt: "taken_over" } : found;
    } catch (error) {
      // While the store accepts no writes, the holder could not record its result either.
      if (error instanceof NotWritten) return found;
      throw error;
    }
  }

  async #hold(expected: string): Promise<Swapped> {
    const { holder, note, leaseMs } = this.#terms;
    try {
      const swapped = await this.#swap(expected, {
        atMs: undefined,
        leaseMs,
        content: `held ${holder} ${note}`,
        isClaim: true,
      });
      if (swapped.isMade) this.#known = swapped;
      return swapped;
    } catch (error) {
      // The claim may have been made, or may still be.
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

  /** Reads, decides and writes; again, if another write came in between. */
  async #change(decide: Decide): Promise<void> {
    for (let swaps = 0; swaps < mostSwaps; swaps += 1) {
      const { line } = this.#known;
      const found = readClaim(this.#known);
      // A damaged line, or one of another form, is left alone.
      const next = line !== "" && found === undefined ? "stays" : decide(found);
      if (next === "stays") return;
      const swapped = await this.#swap(line, next);
      this.#known = swapped;
      if (swapped.isMade) return;
    }
    throw changesTooOften();
  }

  #swap(expected: string, next: NextRecord | undefined): Promise<Swapped> {
    return this.#parts.records.swap(this.#terms, expected, next);
  }
}

/** Decides on the line that replaces the claim that is found. */
type Decide = (found: FoundClaim | undefined) => NextRecord | undefined | "stays";

function settled(found: FoundClaim | undefined, { holder, note }: ClaimTerms, value: string): ReturnType<Decide> {
  const isOwn = found?.holder === holder;
  if (found?.kind === "settled" && (!isOwn || found.isFound)) return "stays";
  return { atMs: isOwn ? found.atMs : undefined, leaseMs: 0, content: `settled ${holder} ${note} ${value}` };
}

function released(found: FoundClaim | undefined, { holder }: ClaimTerms): ReturnType<Decide> {
  if (found === undefined) return undefined;
  return found.holder === holder && found.kind === "held" ? undefined : "stays";
}

function nameOf({ kind, key }: Pick<ClaimTerms, "kind" | "key">): string {
  return `${kind} ${key}`;
}

function changesTooOften(): Error {
  return new Error("a claim in the store changes too often");
}

type Standing = Pick<Swapped, "line" | "nowMs">;

const form = /^(\d{1,15}) (\d{1,15}) (held|ending|settled|found) ([\w-]{1,64}) ([\w.-]{1,128})(?: (.*))?$/s;

function readOrFail(standing: Standing): FoundClaim {
  const found = readClaim(standing);
  if (found === undefined) throw new Error("a claim in the store is damaged");
  return found;
}

function readClaim({ line, nowMs }: Standing): FoundClaim | undefined {
  const [, at, until, state, holder, note, value = ""] = form.exec(line) ?? [];
  if (holder === undefined || note === undefined) return undefined;
  const isFound = state === "found";
  const kind = isFound || state === "settled" ? "settled" : "held";
  const untilMs = Number(until);
  const isOver = kind === "held" && (nowMs >= untilMs || untilMs > nowMs + longestLeaseMs);
  return { kind, holder, note, atMs: Number(at), untilMs, isOver, isEnding: state === "ending", value, isFound };
}
