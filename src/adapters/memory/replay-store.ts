import { type Claim, type ReplayStore, ReplayStoreFull } from "../../callbacks/replay-store.ts";
import type { Clock } from "../../model/clock.ts";

/** A mark with its name takes some 300 bytes: 20 MiB. Two hundred callbacks a second need so many for five minutes. */
const mostMarks = 65_536;
/** A full store looks for marks that are over no more often. */
const sweepEveryMs = 1_000;

interface Mark {
  readonly untilMs: number;
  /** Of the delivery under way. */
  readonly holder?: string;
  /** Once the application has taken it. */
  readonly receipt?: string;
}

/** The default store: one process remembers by itself, until it ends. */
export function createMemoryReplayStore(clock: Clock, most = mostMarks): ReplayStore {
  const marks = new Map<string, Mark>();
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  const makeRoom = () => {
    if (marks.size < most) return;
    const nowMs = clock.nowMs();
    if (nowMs >= sweptAtMs + sweepEveryMs) {
      sweptAtMs = nowMs;
      for (const [key, { untilMs }] of marks) if (untilMs <= nowMs) marks.delete(key);
    }
    if (marks.size >= most) throw new ReplayStoreFull(`${most} callbacks are remembered`);
  };

  return {
    async claim(key, holder, leaseMs): Promise<Claim> {
      const nowMs = clock.nowMs();
      const mark = marks.get(key);
      if (mark !== undefined && mark.untilMs > nowMs) {
        return mark.receipt === undefined ? { kind: "in_delivery" } : { kind: "taken", receipt: mark.receipt };
      }
      if (mark === undefined) makeRoom();
      marks.set(key, { holder, untilMs: nowMs + leaseMs });
      return { kind: "claimed" };
    },
    async confirm(key, receipt, lifetimeMs) {
      if (!marks.has(key)) makeRoom();
      marks.set(key, { receipt, untilMs: clock.nowMs() + lifetimeMs });
    },
    async release(key, holder) {
      if (marks.get(key)?.holder === holder) marks.delete(key);
    },
  };
}
