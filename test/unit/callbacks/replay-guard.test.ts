/** Which deliveries of one callback reach the application, and the effect of a store that fails. */
import { describe, expect, it } from "vitest";
import { createMemoryClaimRecords } from "../../../src/adapters/memory/claim-records.ts";
import { type CallbackBytes, claimDelivery, Delivery, type ReplayRules } from "../../../src/callbacks/replay-guard.ts";
import type { GenuineCallback } from "../../../src/callbacks/verify.ts";
import { type ClaimRecords, Claims, NotWritten, takeoverMs } from "../../../src/claims/claim.ts";
import type { SigningKey } from "../../../src/model/environment.ts";
import { ProxyError } from "../../../src/model/errors.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

const strict: ReplayRules = { application: "sandbox", mode: "strict", timeoutMs: 10_000, rememberMs: 60 * 60_000 };
const bestEffort: ReplayRules = { ...strict, mode: "best_effort" };
const bytes: CallbackBytes = { method: "POST", query: undefined, body: Buffer.from("a=1") };
const minuteMs = 60_000;

const broken: ClaimRecords = {
  swap: () => Promise.reject(new NotWritten()),
  rememberedSinceMs: () => Number.NEGATIVE_INFINITY,
};

describe("with best_effort, if the answer to the claim was lost", () => {
  it("a callback that the application took is not delivered again", async () => {
    const { callback, claim, deliver, records } = stage();
    const given = callback();
    const delivery = await deliver(given, bestEffort, losesAnswers(records));
    await delivery.confirm(200);
    expect(delivery.isGuarded).toBe(false);
    expect(await claim(given, {}, bestEffort)).toBe(200);
  });

  it("a callback that the application declined may come again at once", async () => {
    const { callback, deliver, records } = stage();
    const given = callback();
    await (await deliver(given, bestEffort, losesAnswers(records))).release();
    await deliver(given, bestEffort);
  });
});

describe("a callback", () => {
  it("may be delivered again if the process that delivered it has died, and the event says so", async () => {
    const { clock, callback, claim, deliver } = stage();
    const given = callback();
    await deliver(given);
    for (const waitMs of [14_999, 1, takeoverMs - 1]) {
      await clock.advance(waitMs);
      expect(await codeOf(claim(given))).toBe("callback_in_delivery");
    }
    await clock.advance(1);
    expect((await deliver(given)).isGuarded).toBe(false);
  });

  it.each<[string, Partial<CallbackBytes>]>([
    ["body", { body: Buffer.from("a=2") }],
    ["query", { query: "action=x" }],
    ["method", { method: "GET" }],
  ])("with the signature of an accepted callback and another %s is a replay", async (_, changed) => {
    const { callback, claim, deliver } = stage();
    const given = callback();
    await (await deliver(given)).confirm(200);
    expect(await codeOf(claim(given, changed))).toBe("callback_replayed");
  });

  it("is remembered until it is too old on every replica", async () => {
    const { clock, callback, claim, deliver } = stage();
    const given = callback("s", 0);
    await (await deliver(given)).confirm(200);
    await clock.advance(61 * minuteMs - 1);
    expect(await claim(given)).toBe(200);
    await clock.advance(1);
    expect(await claim(given)).toBeInstanceOf(Delivery);
  });
});

describe("a store that fails", () => {
  it("lets no callback pass with strict", async () => {
    const { callback, claim } = stage();
    expect(await codeOf(claim(callback(), {}, strict, broken))).toBe("replay_store_unavailable");
  });

  it("lets each callback pass with best_effort, and says that the callback was not guarded", async () => {
    const { callback, deliver } = stage();
    expect((await deliver(callback(), bestEffort, broken)).isGuarded).toBe(false);
  });

  it("after the claim makes the callback not guarded, and keeps the answer of the application", async () => {
    const { callback, deliver, records } = stage();
    let swaps = 0;
    const swap: ClaimRecords["swap"] = (...given) => {
      swaps += 1;
      return swaps === 1 ? records.swap(...given) : broken.swap(...given);
    };
    const delivery = await deliver(callback(), strict, { ...records, swap });
    await delivery.confirm(200);
    expect(delivery.isGuarded).toBe(false);
  });
});

describe("one process that remembers callbacks in its own memory", () => {
  it("recognises replays younger than its start, by whole seconds", async () => {
    const { clock, callback, deliver } = stage();
    await clock.advance(30 * minuteMs);
    expect((await deliver(callback("after", 29 * minuteMs))).isGuarded).toBe(true);
    expect((await deliver(callback("then", 30 * minuteMs))).isGuarded).toBe(true);
  });

  it("drops the oldest callback when it is full, and then cannot recognise replays of that age", async () => {
    const { clock, callback, claim, deliver } = stage(32);
    await clock.advance(40 * minuteMs);
    const taken = Array.from({ length: 32 }, (_, index) => callback(`${index}`, (index + 1) * minuteMs));
    for (const each of taken) await (await deliver(each)).confirm(200);
    expect((await deliver(callback("new"))).isGuarded).toBe(true);
    expect(await claim(taken[0] as GenuineCallback)).toBe(200);
    expect(await claim(taken[28] as GenuineCallback)).toBe(200);
    expect(await codeOf(claim(taken[31] as GenuineCallback))).toBe("replay_store_unavailable");
    expect(await codeOf(claim(callback("unknown", 31 * minuteMs)))).toBe("replay_store_unavailable");
    expect((await deliver(callback("known", 25 * minuteMs))).isGuarded).toBe(true);
  });

  it("drops expired callbacks first", async () => {
    const { clock, callback, claim, deliver } = stage(2);
    await clock.advance(40 * minuteMs);
    const old = callback("old", 30 * minuteMs);
    await (await deliver(old)).confirm(200);
    const young = callback("young");
    await (await deliver(young)).confirm(200);
    await clock.advance(32 * minuteMs);
    await (await deliver(callback("new"))).confirm(200);
    expect(await claim(young)).toBe(200);
  });
});

function stage(most?: number) {
  const clock = new FakeClock();
  const records = createMemoryClaimRecords(clock, most);
  const callback = (signature = "s", ageMs = 0): GenuineCallback => {
    const key = { identifier: "K1" } as SigningKey;
    return { key, signature, signedAtMs: clock.wallMs() - ageMs } as GenuineCallback;
  };
  let holders = 0;
  const claim = (
    given: GenuineCallback,
    more: Partial<CallbackBytes> = {},
    rules = strict,
    from: ClaimRecords = records,
  ) => {
    holders += 1;
    const claims = new Claims(from, clock);
    return claimDelivery(given, { ...bytes, ...more }, `holder-${holders}`, clock.wallMs(), rules, claims);
  };
  const deliver = async (given: GenuineCallback, rules = strict, from = records): Promise<Delivery> => {
    const claimed = await claim(given, {}, rules, from);
    if (claimed instanceof Delivery) return claimed;
    throw new Error("it was taken");
  };
  return { clock, records, callback, claim, deliver };
}

function codeOf(attempt: Promise<unknown>) {
  return attempt.then(
    () => "none",
    (error) => (error instanceof ProxyError ? error.code : String(error)),
  );
}

/** The store's answer to a claim is lost, as when it comes too late; but the claim is stored. */
function losesAnswers(records: ClaimRecords): ClaimRecords {
  let swaps = 0;
  const swap: ClaimRecords["swap"] = async (...given) => {
    const swapped = await records.swap(...given);
    swaps += 1;
    if (swaps === 1) throw new Error("no answer in time");
    return swapped;
  };
  return { ...records, swap };
}
