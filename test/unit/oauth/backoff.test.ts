import { describe, expect, it } from "vitest";
import { backoffMs, EndpointBackoff } from "../../../src/oauth/endpoint-backoff.ts";
import { notSigned, type TokenAnswer } from "../../../src/oauth/token-endpoint.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

it.each([
  { failures: 0, longest: 50 },
  { failures: 1, longest: 100 },
  { failures: 4, longest: 800 },
  { failures: 9, longest: 25_600 },
  { failures: 10, longest: 30_000 },
  { failures: 1_000, longest: 30_000 },
])("the back-off after $failures failures is random, 50 to $longest ms", ({ failures, longest }) => {
  expect(backoffMs(failures, () => 0)).toBe(50);
  expect(backoffMs(failures, () => 0.5)).toBe(Math.max(50, longest / 2));
  expect(backoffMs(failures, () => 0.999_999)).toBeLessThanOrEqual(longest);
});

it("a 429 without Retry-After counts as six failures more", () => {
  const backoff = new EndpointBackoff(new FakeClock(), () => 0.5);
  for (const remainingMs of [1_600, 3_200]) {
    backoff.onAnswer({ kind: "throttled", status: 429, retryAfterMs: undefined });
    expect(backoff.toShared()).toMatchObject({ kind: "throttled", remainingMs });
  }
});

function afterAnswer(answer: TokenAnswer) {
  const clock = new FakeClock();
  const before = new EndpointBackoff(clock, () => 0.5);
  before.onAnswer(answer);
  return { clock, next: before.withOtherTransport() };
}

const throttled: TokenAnswer = { kind: "throttled", status: 429, retryAfterMs: 600_000 };

describe("with another transport to the authorization server", () => {
  it("a 429 still pauses, even without a store", () => {
    const { next, clock } = afterAnswer(throttled);
    expect(next.openPause()).toMatchObject({ kind: "throttled", status: 429, untilMs: clock.nowMs() + 600_000 });
  });

  it("the set stays refused", () => {
    const { next } = afterAnswer({ kind: "refused", status: 401 });
    expect(next.openPause()).toMatchObject({ kind: "refused", status: 401 });
    expect(next.isRefused()).toBe(true);
  });

  it("a failed connection no longer pauses", () => {
    expect(afterAnswer({ kind: "failed", status: undefined }).next.openPause()).toBeUndefined();
  });
});

describe("the pause that is shared with the other replicas", () => {
  it.each<[string, TokenAnswer, object | undefined]>([
    ["a 429", throttled, { kind: "throttled", status: 429, failures: 1, remainingMs: 600_000 }],
    ["a refusal", { kind: "refused", status: 401 }, { kind: "refused", status: 401, failures: 0 }],
    ["a 503", { kind: "failed", status: 503 }, { kind: "failing", status: 503, failures: 1 }],
    ["a 200 without a token", { kind: "malformed", status: 200 }, { kind: "failing", status: 200, failures: 1 }],
    ["no connection", { kind: "failed" }, undefined],
    ["no answer", { kind: "timed_out" }, undefined],
    ["an assertion that could not be signed", { kind: "failed", cause: notSigned }, undefined],
  ])("%s", (_, answer, pause) => {
    const backoff = new EndpointBackoff(new FakeClock(), () => 0.5);
    backoff.onAnswer({ kind: "failed" });
    backoff.onAnswer(answer);
    if (pause === undefined) expect(backoff.toShared()).toBeUndefined();
    else expect(backoff.toShared()).toMatchObject(pause);
  });

  it("includes failures of another replica, also when the pause for them is over", () => {
    const backoff = new EndpointBackoff(new FakeClock(), () => 0.5);
    backoff.mergeShared({ kind: "failing", status: 503, failures: 4, remainingMs: 0 });
    expect(backoff.openPause()).toBeUndefined();
    expect(backoff.isBrief(backoff.onAnswer({ kind: "failed", status: 503 }))).toBe(false);
  });

  it("of another replica's refusal ends, but the set stays refused until a token is seen", async () => {
    const clock = new FakeClock();
    const backoff = new EndpointBackoff(clock, () => 0.5);
    backoff.mergeShared({ kind: "refused", status: 401, failures: 0, remainingMs: 10_000 });
    await clock.advance(10_000);
    expect(backoff.openPause()).toBeUndefined();
    expect(backoff.isRefused()).toBe(true);
    backoff.onTokenSeen(clock.nowMs());
    expect(backoff.isRefused()).toBe(false);
  });

  it("keeps its cause when the store returns it up to 1 ms longer", () => {
    const clock = new FakeClock();
    const backoff = new EndpointBackoff(clock, () => 0.5);
    backoff.onAnswer({ kind: "refused", status: 401, cause: "invalid_client" });
    const own = { kind: "refused", failures: 0, remainingMs: 10_001 } as const;
    backoff.mergeShared({ ...own, status: 401 });
    expect(backoff.openPause()).toMatchObject({ untilMs: clock.nowMs() + 10_001, cause: "invalid_client" });
    backoff.mergeShared({ ...own, status: 400, remainingMs: 10_002 });
    expect(backoff.openPause()).toMatchObject({ status: 400, cause: undefined });
  });

  it("is no longer because of earlier failures without an answer", () => {
    const backoff = new EndpointBackoff(new FakeClock(), () => 0.5);
    for (let n = 0; n < 20; n++) backoff.onAnswer({ kind: "timed_out" });
    backoff.onAnswer({ kind: "failed", status: 503 });
    expect(backoff.toShared()).toMatchObject({ failures: 1, remainingMs: 50 });
  });
});

it.each<TokenAnswer>([throttled, { kind: "refused", status: 401 }, { kind: "failed" }])(
  "after %o it is failing, until a token is seen",
  (answer) => {
    const backoff = new EndpointBackoff(new FakeClock(), () => 0.5);
    expect(backoff.isFailing()).toBe(false);
    backoff.onAnswer(answer);
    expect(backoff.isFailing()).toBe(true);
    backoff.onTokenSeen(new FakeClock().nowMs());
    expect(backoff.isFailing()).toBe(false);
  },
);
