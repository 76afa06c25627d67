/** What a line is of, and how long it is kept. */
export interface RecordTerms {
  readonly kind: "once" | "callback";
  /** A digest of what is claimed: it stands in the store. */
  readonly key: string;
  /** How long the claim, and how it ended, is remembered. */
  readonly lifetimeMs: number;
  /** Nothing can have claimed it before; by the wall clock. Undefined: not known. */
  readonly bornMs?: number;
}

/**
 * Where claims are kept: one line of text for each name. A line is `<at> <until> <content>`, both moments in ms since 1970 by
 * the store's own clock. The store compares, sets and forgets. What a line means is decided in claim.ts alone.
 */
export interface ClaimRecords {
  /**
   * Replaces the line of a name, if it is the expected one, in one step among all processes.
   * @param expected the whole line; empty: there is none
   * @param next undefined: there is none from now on
   * @throws NotWritten where the line certainly stays; any other error: it may have been replaced, or may be yet
   */
  swap(terms: RecordTerms, expected: string, next: NextRecord | undefined): Promise<Swapped>;
  /** What came into being before this may have been forgotten before its lifetime was over. By the wall clock. */
  rememberedSinceMs(): number;
}

export interface NextRecord {
  /** Undefined: now. */
  readonly atMs: number | undefined;
  /** From now to `until`. */
  readonly leaseMs: number;
  readonly content: string;
}

export interface Swapped {
  readonly isMade: boolean;
  /** What stands there now; empty: nothing. */
  readonly line: string;
  readonly nowMs: number;
}

/** The store is away or refuses writes; nothing was written, and nothing will be. */
export class NotWritten extends Error {
  override readonly name = "NotWritten";
}
