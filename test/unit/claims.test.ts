/** The behaviour of a claim whose store refuses writes, is damaged, or has its clock set back. */
import { expect, it } from "vitest";
import { createMemoryClaimRecords } from "../../src/adapters/memory/claim-records.ts";
import { type ClaimRecords, Claims, NotWritten, takeoverMs } from "../../src/claims/claim.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const hourMs = 3_600_000;

it("a claim is free at once for the next holder in the same process, once the store accepts its release", async () => {
  const { state, open } = stage();
  const claim = open("a");
  await claim.make();
  state.isRefusing = true;
  await expect(claim.release()).rejects.toThrow();
  await expect(open("b").make()).rejects.toThrow();
  state.isRefusing = false;
  expect(await open("b").make()).toEqual({ kind: "claimed" });
});

it("a claim is not taken over while the store accepts no writes, and its settlement is written first when it does", async () => {
  const { clock, state, open } = stage();
  const claim = open("a");
  await claim.make();
  state.isRefusing = true;
  await expect(claim.settle("200")).rejects.toThrow();
  for (let asked = 0; asked < 3; asked += 1) {
    await clock.advance(takeoverMs);
    expect(await open("b", true, 1).make()).toMatchObject({ kind: "held", isOver: true });
  }
  state.isRefusing = false;
  expect(await open("b", true, 1).make()).toMatchObject({ kind: "held", holder: "a" });
  await clock.advance(1_000);
  expect(await open("b", true, 1).make()).toMatchObject({ kind: "settled", holder: "a", value: "200" });
});

it("the lease of a claim is over when the store's clock has been set back by more than any lease", async () => {
  const { clock, state, open } = stage();
  await clock.advance(3 * hourMs);
  await open("a").make();
  state.aheadMs = -2 * hourMs;
  expect(await open("b", false).make()).toMatchObject({ kind: "held", isOver: true });
});

it("a damaged claim does not count as free, and is left unchanged", async () => {
  const { state, open } = stage();
  const claim = open("a");
  await claim.make();
  state.line = "rubbish";
  await expect(open("b").make()).rejects.toThrow("damaged");
  await claim.settle("200");
  state.line = undefined;
  expect(await open("c").make()).toMatchObject({ kind: "held", holder: "a" });
});

it("a late write of the shorter value does not replace the whole value, if that has arrived after all", async () => {
  const { clock, state, open } = stage();
  const refused = open("a");
  await refused.make();
  state.isRefusing = true;
  await expect(refused.settle("200 whole", "200")).rejects.toThrow();
  state.isRefusing = false;
  await clock.advance(1_000);
  expect(await open("b").make()).toMatchObject({ kind: "settled", holder: "a", value: "200" });

  const late = stage();
  const claim = late.open("a");
  await claim.make();
  late.state.isAnswerLost = true;
  await expect(claim.settle("200 whole", "200")).rejects.toThrow();
  late.state.isAnswerLost = false;
  await late.clock.advance(1_000);
  expect(await late.open("b").make()).toMatchObject({ kind: "settled", holder: "a", value: "200 whole" });
});

/** A store in memory; the test makes it refuse writes, damages it, and sets its clock. */
function stage() {
  const clock = new FakeClock();
  const memory = createMemoryClaimRecords(clock);
  const state = { isRefusing: false, isAnswerLost: false, line: undefined as string | undefined, aheadMs: 0 };
  const records: ClaimRecords = {
    ...memory,
    async swap(terms, expected, next) {
      const swapped = { isMade: false, line: state.line ?? "", nowMs: clock.nowMs() };
      if (state.line !== undefined) return swapped;
      const { line } = state.isRefusing ? await memory.swap(terms, "?", undefined) : { line: expected };
      if (line !== expected) return { ...swapped, line, nowMs: swapped.nowMs + state.aheadMs };
      if (state.isRefusing) throw new NotWritten();
      const result = await memory.swap(terms, expected, next);
      if (state.isAnswerLost) throw new Error("timeout");
      return { ...result, nowMs: result.nowMs + state.aheadMs };
    },
  };
  const processes = [new Claims(records, clock), new Claims(records, clock)] as const;
  const open = (holder: string, isTakenOver = true, process: 0 | 1 = 0) => {
    const terms = { kind: "callback", key: "k", holder, note: "n", leaseMs: 1_000, lifetimeMs: hourMs } as const;
    return processes[process].open({ ...terms, isTakenOver });
  };
  return { clock, state, open };
}
