/** When the token requests to one address may be made, and what a 429 of one client means for the others. */
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { AddressLimiter, type Priority, type Turn } from "../../../src/oauth/address-limiter.ts";
import type { TokenAnswer } from "../../../src/oauth/token-endpoint.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { hourMs, openSiteTokens } from "../../../testkit/site-tokens.ts";

const issued: TokenAnswer = { kind: "issued", status: 200, grant: { secret: new Secret("token"), lifetimeMs: hourMs } };
const throttled = (retryAfterMs: number | undefined): TokenAnswer => ({ kind: "throttled", status: 429, retryAfterMs });
const dayMs = 86_400_000;
const noEnd = Number.POSITIVE_INFINITY;

describe("turns", () => {
  it("orders go first, eight at a time; in the background four, those nearest to their end first", async () => {
    const { clock, got, turns, ask } = stage();
    for (const n of [1, 2, 3, 4]) ask(`early ${n}`, false);
    ask("without a token", false);
    ask("ends late", false, 900_000);
    ask("ends soon", false, 800_000);
    for (const n of [1, 2, 3, 4, 5]) ask(`order ${n}`, true);
    await clock.advance(1_000);
    expect(got.splice(0)).toEqual(
      [1, 2, 3, 4].flatMap((n) => [`early ${n}`]).concat(["order 1", "order 2", "order 3", "order 4"]),
    );
    for (const turn of turns.splice(0)) turn();
    await clock.advance(1_000);
    expect(got).toEqual(["order 5", "ends soon", "ends late", "without a token"]);
  });

  it("a refresh that waits in the background goes first once an order waits for it", async () => {
    const { clock, limiter, got, ask } = stage();
    for (const n of [1, 2, 3, 4]) ask(`early ${n}`, false);
    ask("another", false);
    const wanted = ask("wanted", false);
    await clock.advance(1_000);
    limiter.hurry(wanted);
    await clock.advance(0);
    expect(got.slice(4)).toEqual(["wanted"]);
  });

  it("a refresh that nobody needs any more gets no turn, unless an order waits for it", async () => {
    const { clock, limiter, got, ask, answer } = stage();
    answer("one", throttled(2_000));
    limiter.abandon(ask("left", false));
    limiter.abandon(ask("order", true));
    await clock.advance(3_000);
    expect(got).toEqual(["left: abandoned", "order"]);
  });

  it("an order waits for the end of a short pause, and not for that of a long one", async () => {
    const { clock, got, ask, answer } = stage();
    ask("running", true);
    answer("one", throttled(5_000));
    ask("first", true);
    await clock.advance(4_999);
    expect(got).toEqual(["running"]);
    await clock.advance(1);
    expect(got.splice(0)).toEqual(["running", "first"]);
    answer("one", throttled(2_000));
    ask("second", true);
    answer("two", throttled(5_500));
    await clock.advance(0);
    expect(got).toEqual(["second: paused"]);
  });

  it("after a pause they keep below the rate that was accepted, and become faster within a minute", async () => {
    const { clock, got, turns, ask, answer } = stage();
    for (let n = 0; n < 20; n += 1) answer("one", issued);
    answer("two", throttled(1_000));
    for (let n = 0; n < 200; n += 1) ask(`order ${n}`, true);
    const inNextSecond = async () => {
      const before = got.length;
      for (let n = 0; n < 100; n += 1) {
        await clock.advance(10);
        for (const turn of turns.splice(0)) turn();
      }
      return got.length - before;
    };
    expect(await inNextSecond()).toBeLessThanOrEqual(1);
    expect(await inNextSecond()).toBeGreaterThan(14);
    expect(got.length).toBeLessThan(20);
    for (let n = 0; n < 4; n += 1) await inNextSecond();
    expect(await inNextSecond()).toBeGreaterThan(20);
  });
});

describe("a pause", () => {
  it.each([
    ["a Retry-After", throttled(7_000), 7_000],
    ["a 429 without one: as long as that of its set", throttled(undefined), 2_000],
    ["a 503 with a Retry-After", { kind: "failed", status: 503, retryAfterMs: 7_000 }, 7_000],
    ["a Retry-After of a day: a minute, since it may be one client's quota", throttled(dayMs), 60_000],
    ["a 503 without a Retry-After: none", { kind: "failed", status: 503 }, 0],
    ["a refusal: none", { kind: "refused", status: 401 }, 0],
    ["no answer: none", { kind: "timed_out" }, 0],
  ] as const)("follows %s", (_, given, expectedMs) => {
    const { answer, pausedMs } = stage();
    const shared = answer("one", given);
    expect(pausedMs()).toBe(expectedMs);
    expect(shared?.remainingMs ?? 0).toBe(expectedMs);
  });

  it("doubles with each 429 in a row, up to what is demanded; a token ends that", async () => {
    const { clock, answer, pausedMs } = stage();
    const next = async (key: string) => {
      answer(key, throttled(300_000));
      // A 429 that was under way changes nothing.
      answer(`${key} too`, throttled(300_000));
      const ms = pausedMs();
      await clock.advance(ms);
      return ms;
    };
    expect([await next("a"), await next("b"), await next("c"), await next("d")]).toEqual([
      60_000, 120_000, 240_000, 300_000,
    ]);
    answer("e", issued);
    await clock.advance(1_000);
    expect(await next("f")).toBe(60_000);
  });

  it("does not follow the third 429 of a set while others get tokens, nor its next ones, until it gets a token", async () => {
    const { clock, answer, pausedMs } = stage();
    const next = async (key: string) => {
      answer(key, throttled(10_000));
      const ms = pausedMs();
      await clock.advance(10_000);
      answer("other", issued);
      await clock.advance(1_000);
      return ms;
    };
    const own = [await next("own"), await next("own"), await next("own"), await next("own")];
    expect(own).toEqual([10_000, 10_000, 0, 0]);
    expect(await next("another")).toBe(10_000);
    expect(await next("own")).toBe(0);
    answer("own", issued);
    expect(await next("own")).toBe(10_000);
  });

  it("follows each 429 of a set that is alone", async () => {
    const { clock, answer, pausedMs } = stage();
    for (let n = 0; n < 5; n += 1) {
      answer("one", throttled(10_000));
      expect(pausedMs()).toBe(10_000);
      await clock.advance(11_000);
    }
  });

  it("is that of all replicas: another set at another replica makes no request meanwhile", async () => {
    const { clock, login, openReplica } = openSiteTokens(["blue", "green"]);
    const [one, other] = [openReplica(), openReplica()];
    login.next({ kind: "answered", status: 429, body: "", retryAfter: "3", date: undefined });
    await one.members[0]?.source.warm("start");
    const got = other.members[1]?.source.get(clock.nowMs() + 5_000);
    await clock.advance(2_900);
    expect(login.asked).toEqual(["client-blue"]);
    await clock.advance(200);
    expect(await got).toHaveProperty("secret");
    expect(login.asked).toContain("client-green");
  });
});

describe("the caches of one process", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"] as const;

  it("an order's set that waits in the background is asked for at once", async () => {
    const { clock, login, openReplica } = openSiteTokens(names);
    const { members } = openReplica();
    for (const _ of [1, 2, 3, 4]) login.hold();
    for (const { source } of members) void source.warm("missing");
    await clock.advance(1_000);
    expect(login.asked).toHaveLength(4);
    const got = members[8]?.source.get(clock.nowMs() + 5_000);
    await clock.advance(0);
    expect(login.asked.slice(4)).toEqual(["client-i"]);
    expect(await got).toHaveProperty("secret");
  });

  it("orders that wait for another replica's refreshes hold up no others", async () => {
    const { clock, login, openReplica } = openSiteTokens(names);
    const [one, other] = [openReplica(), openReplica()];
    for (const { source } of one.members.slice(0, 8)) {
      login.hold();
      void source.get(clock.nowMs() + 5_000);
    }
    await clock.advance(100);
    for (const { source } of other.members.slice(0, 8)) void source.get(clock.nowMs() + 5_000);
    await clock.advance(100);
    void other.members[8]?.source.get(clock.nowMs() + 5_000);
    await clock.advance(100);
    expect(login.asked.slice(8)).toEqual(["client-i"]);
  });
});

function stage() {
  const clock = new FakeClock();
  const limiter = new AddressLimiter("https://login", clock, () => 0.5);
  const got: string[] = [];
  const turns: Turn[] = [];
  /** Asks for a turn; its name is noted once it gets the turn, or with the reason why it does not. */
  const ask = (name: string, isAwaited: boolean, latestMs = noEnd): Priority => {
    const priority = { isAwaited };
    void limiter.turn(priority, latestMs).then((turn) => {
      if (typeof turn === "function") turns.push(turn);
      got.push(typeof turn === "function" ? name : `${name}: ${turn === undefined ? "abandoned" : "paused"}`);
    });
    return priority;
  };
  const answer = (key: string, given: TokenAnswer) => limiter.onAnswer(key, given, 2_000);
  const pausedMs = () => Math.max(0, (limiter.pause()?.untilMs ?? 0) - clock.nowMs());
  return { clock, limiter, got, turns, ask, answer, pausedMs };
}
