/** Row 74: which deliveries of one callback reach the application, and what a store that fails does to them. */
import { describe, expect, it } from "vitest";
import { createMemoryReplayStore } from "../../../src/adapters/memory/replay-store.ts";
import { type CallbackBytes, Delivery, ReplayGuard, type ReplayRules } from "../../../src/callbacks/replay-guard.ts";
import type { ReplayStore } from "../../../src/callbacks/replay-store.ts";
import type { GenuineCallback } from "../../../src/callbacks/verify.ts";
import type { SigningKey } from "../../../src/model/environment.ts";
import { ProxyError } from "../../../src/model/errors.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

const strict: ReplayRules = { mode: "strict", timeoutMs: 10_000 };
const bestEffort: ReplayRules = { ...strict, mode: "best_effort" };
const bytes: CallbackBytes = { method: "POST", query: undefined, body: Buffer.from("a=1") };
const minuteMs = 60_000;

function stage(most?: number) {
  const clock = new FakeClock();
  const store = createMemoryReplayStore(clock, most);
  const callback = (signature = "s", expiresInMs = 5 * minuteMs): GenuineCallback => {
    const key = { identifier: "K1" } as SigningKey;
    return { key, signature, expiresAtMs: clock.wallMs() + expiresInMs } as GenuineCallback;
  };
  let holders = 0;
  const claim = (
    given: GenuineCallback,
    more: Partial<CallbackBytes> = {},
    rules = strict,
    from: ReplayStore = store,
  ) => {
    holders += 1;
    const guard = new ReplayGuard("sandbox", rules, from);
    return guard.claim(given, { ...bytes, ...more }, `holder-${holders}`, clock.wallMs());
  };
  const deliver = async (given: GenuineCallback, rules = strict): Promise<Delivery> => {
    const claimed = await claim(given, {}, rules);
    if (claimed instanceof Delivery) return claimed;
    throw new Error("it was taken");
  };
  return { clock, store, callback, claim, deliver };
}

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => "none",
    (error) => (error instanceof ProxyError ? error.code : String(error)),
  );

const broken: ReplayStore = {
  claim: () => Promise.reject(new Error("away")),
  confirm: () => Promise.reject(new Error("away")),
  release: () => Promise.reject(new Error("away")),
};

/** Its answer to a claim is lost, as when it comes too late; the claim stands. */
function losesAnswers(store: ReplayStore): ReplayStore {
  const claim: ReplayStore["claim"] = async (...given) => {
    await store.claim(...given);
    return { kind: "unknown" };
  };
  return { ...store, claim };
}

describe("best_effort, where the answer to the claim was lost", () => {
  it("a callback that the application took is not delivered again", async () => {
    const { callback, claim, store } = stage();
    const given = callback();
    const delivery = await claim(given, {}, bestEffort, losesAnswers(store));
    if (!(delivery instanceof Delivery)) throw new Error("it was taken");
    await delivery.confirm(200);
    expect(delivery.isGuarded).toBe(false);
    expect(await claim(given, {}, bestEffort)).toBe(200);
  });

  it("one that the application declined may come again at once", async () => {
    const { callback, claim, store } = stage();
    const given = callback();
    const delivery = await claim(given, {}, bestEffort, losesAnswers(store));
    if (!(delivery instanceof Delivery)) throw new Error("it was taken");
    await delivery.release();
    expect(await claim(given, {}, bestEffort)).toBeInstanceOf(Delivery);
  });
});

it("strict, where the answer to the claim was lost, one may come again as soon as the store answers", async () => {
  const { callback, claim, deliver, store } = stage();
  const given = callback();
  expect(await codeOf(claim(given, {}, strict, losesAnswers(store)))).toBe("replay_store_unavailable");
  expect((await deliver(given)).isGuarded).toBe(true);
});

describe("a callback", () => {
  it("that the application took is answered with its status and not delivered again", async () => {
    const { callback, claim, deliver } = stage();
    const given = callback();
    await (await deliver(given)).confirm(202);
    expect(await claim(given)).toBe(202);
    expect(await claim(given)).toBe(202);
  });

  it("that the application did not take may be delivered again at once", async () => {
    const { callback, deliver } = stage();
    const given = callback();
    await (await deliver(given)).release();
    expect((await deliver(given)).isGuarded).toBe(true);
  });

  it("is not delivered while another delivery of it is under way", async () => {
    const { callback, claim, deliver } = stage();
    const given = callback();
    await deliver(given);
    expect(await codeOf(claim(given))).toBe("callback_in_delivery");
  });

  it("may be delivered again when the process that delivered it has died", async () => {
    const { clock, callback, claim, deliver } = stage();
    const given = callback();
    await deliver(given);
    await clock.advance(14_999);
    expect(await codeOf(claim(given))).toBe("callback_in_delivery");
    await clock.advance(1);
    expect((await deliver(given)).isGuarded).toBe(true);
  });

  it.each<[string, Partial<CallbackBytes>]>([
    ["body", { body: Buffer.from("a=2") }],
    ["query", { query: "action=x" }],
    ["method", { method: "GET" }],
  ])("with the signature of one that was taken and another %s is a replay", async (_, changed) => {
    const { callback, claim, deliver } = stage();
    const given = callback();
    await (await deliver(given)).confirm(200);
    expect(await codeOf(claim(given, changed))).toBe("callback_replayed");
  });

  it("with another signature is another one", async () => {
    const { callback, deliver } = stage();
    await (await deliver(callback("one"))).confirm(200);
    expect((await deliver(callback("two"))).isGuarded).toBe(true);
  });

  it("is remembered until its timestamp has left the window on every replica", async () => {
    const { clock, callback, claim, deliver } = stage();
    const given = callback("s", 5 * minuteMs);
    await (await deliver(given)).confirm(200);
    await clock.advance(6 * minuteMs - 1);
    expect(await claim(given)).toBe(200);
    await clock.advance(1);
    expect(await claim(given)).toBeInstanceOf(Delivery);
  });
});

describe("a store that fails", () => {
  it("lets no callback pass when strict, and every one that asks to come again", async () => {
    const { callback, claim } = stage();
    expect(await codeOf(claim(callback(), {}, strict, broken))).toBe("replay_store_unavailable");
  });

  it("lets each pass by best effort, and says that it was not guarded", async () => {
    const { callback, claim } = stage();
    const claimed = await claim(callback(), {}, bestEffort, broken);
    expect(claimed).toMatchObject({ isGuarded: false });
  });

  it("after the claim makes it not guarded, and the answer of the application stands", async () => {
    const { callback, claim, store } = stage();
    const claimed = await claim(callback(), {}, strict, { ...broken, claim: store.claim });
    if (!(claimed instanceof Delivery)) throw new Error("it was taken");
    await claimed.confirm(200);
    expect(claimed.isGuarded).toBe(false);
  });
});

describe("a full store of one process", () => {
  it("fails like one that is away", async () => {
    const { callback, claim, deliver } = stage(2);
    await (await deliver(callback("one"))).confirm(200);
    await (await deliver(callback("two"))).confirm(200);
    expect(await codeOf(claim(callback("three")))).toBe("replay_store_unavailable");
    expect(await claim(callback("three"), {}, bestEffort)).toMatchObject({ isGuarded: false });
    expect(await claim(callback("one"))).toBe(200);
  });

  it("has room again when something is over", async () => {
    const { clock, callback, claim, deliver } = stage(2);
    await (await deliver(callback("one", minuteMs))).confirm(200);
    await (await deliver(callback("two", 5 * minuteMs))).confirm(200);
    await clock.advance(2 * minuteMs);
    expect(await claim(callback("three"))).toMatchObject({ isGuarded: true });
    expect(await codeOf(claim(callback("four")))).toBe("replay_store_unavailable");
  });
});
