import type { ClaimRecords } from "../../claims/claim.ts";
import type { Clock } from "../../model/clock.ts";

/** A claim takes some 300 bytes, all of them 20 MiB. */
const mostClaims = 65_536;
/** The share of a full store that is dropped at once, so that not every claim has to search for the oldest. */
const droppedShare = 1 / 16;

interface Entry {
  readonly line: string;
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly bornMs: number;
}

/** The claims of one process, complete since its start, or since the newest claim that it had to drop. */
export function createMemoryClaimRecords(clock: Clock, most = mostClaims): ClaimRecords {
  const entries = new Map<string, Entry>();
  // Callbacks have times in whole seconds.
  let rememberedSinceMs = Math.floor(clock.wallMs() / 1_000) * 1_000;

  function makeRoom(nowMs: number): void {
    if (entries.size < most) return;
    for (const [name, { untilMs }] of entries) if (untilMs <= nowMs) entries.delete(name);
    if (entries.size < most) return;
    const born = Float64Array.from(entries.values(), ({ bornMs }) => bornMs).sort();
    const newestDroppedMs = born[Math.floor(most * droppedShare)] ?? 0;
    for (const [name, { bornMs }] of entries) if (bornMs <= newestDroppedMs) entries.delete(name);
    rememberedSinceMs = Math.max(rememberedSinceMs, newestDroppedMs + 1);
  }

  return {
    async swap({ kind, key, lifetimeMs, bornMs = clock.wallMs() }, expected, next) {
      const name = `${kind} ${key}`;
      const nowMs = Math.floor(clock.nowMs());
      const found = entries.get(name);
      const line = found === undefined || found.untilMs <= nowMs ? "" : found.line;
      if (line !== expected) return { isMade: false, line, nowMs };
      entries.delete(name);
      if (next === undefined) return { isMade: true, line: "", nowMs };
      makeRoom(nowMs);
      const written = `${next.atMs ?? nowMs} ${nowMs + Math.ceil(next.leaseMs)} ${next.content}`;
      entries.set(name, { line: written, untilMs: nowMs + lifetimeMs, bornMs });
      return { isMade: true, line: written, nowMs };
    },
    rememberedSinceMs: () => rememberedSinceMs,
  };
}
