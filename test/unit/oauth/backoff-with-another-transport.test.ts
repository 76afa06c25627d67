/** A changed trust or timeout towards the authorization server: what the back-off of a new pool of connections begins with. */
import { describe, expect, it } from "vitest";
import { EndpointBackoff } from "../../../src/oauth/endpoint-backoff.ts";
import type { TokenAnswer } from "../../../src/oauth/token-endpoint.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

function afterAnswer(answer: TokenAnswer) {
  const clock = new FakeClock();
  const before = new EndpointBackoff(clock, () => 0.5);
  before.onAnswer(answer);
  return { clock, next: before.withTransport() };
}

const throttled: TokenAnswer = { kind: "throttled", status: 429, retryAfterMs: 600_000 };

describe("with another transport to the authorization server", () => {
  it("a 429 is kept, though no store shares it", () => {
    const { next, clock } = afterAnswer(throttled);
    expect(next.openPause()).toMatchObject({ kind: "throttled", status: 429, untilMs: clock.nowMs() + 600_000 });
  });

  it("a refusal is kept, and the set stays refused", () => {
    const { next } = afterAnswer({ kind: "refused", status: 401 });
    expect(next.openPause()).toMatchObject({ kind: "refused", status: 401 });
    expect(next.isRefused()).toBe(true);
  });

  it("a failure of the old transport is over, also where another replica shares it", async () => {
    const { next, clock } = afterAnswer({ kind: "failed", status: undefined });
    expect(next.openPause()).toBeUndefined();
    const shared = { kind: "failing", status: undefined, failures: 9, remainingMs: 15_000 } as const;
    next.mergeShared({ ...shared, ageMs: 10 });
    expect(next.openPause()).toBeUndefined();
    // A later one counts.
    await clock.advance(20);
    next.mergeShared({ ...shared, ageMs: 10 });
    expect(next.openPause()).toMatchObject({ kind: "failing", untilMs: clock.nowMs() + 15_000 });
  });

  it("failures of replicas that still have the old transport do not count, those of the same transport do", async () => {
    const clock = new FakeClock();
    const next = new EndpointBackoff(clock, () => 0.5, "aa").withTransport("bb");
    await clock.advance(1_000);
    const shared = { kind: "failing", status: undefined, failures: 9, remainingMs: 15_000, ageMs: 10 } as const;
    next.mergeShared({ ...shared, transport: "aa" });
    expect(next.openPause()).toBeUndefined();
    next.mergeShared({ ...shared, transport: "bb" });
    expect(next.openPause()).toMatchObject({ kind: "failing", untilMs: clock.nowMs() + 15_000 });
  });

  it("a failure is shared with its transport, what the server said is shared without", () => {
    const backoff = new EndpointBackoff(new FakeClock(), () => 0.5, "aa");
    backoff.onAnswer({ kind: "failed", status: undefined });
    expect(backoff.toShared()).toMatchObject({ pause: { kind: "failing", transport: "aa" } });
    backoff.onAnswer(throttled);
    expect(backoff.toShared()).toMatchObject({ pause: { kind: "throttled", transport: undefined } });
  });
});
