import { expect, it } from "vitest";
import { createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { sleep } from "../../../src/model/clock.ts";
import { AddressLimiter } from "../../../src/oauth/address-limiter.ts";
import { EndpointBackoff } from "../../../src/oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../../../src/oauth/forced-refresh-limiter.ts";
import { refresh } from "../../../src/oauth/refresh.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { keyOfBlue, setOfBlue, thresholds, tokenUrl } from "../../../testkit/site-tokens.ts";
import { answered, TokenEndpointScript } from "../../../testkit/token-endpoint-script.ts";

it("without a lock, a refresh does not wait for the end of a 429 that came to another while its own was pausing", async () => {
  const clock = new FakeClock();
  const login = new TokenEndpointScript();
  const random = () => 0.5;
  const parts = {
    environment: "test",
    set: setOfBlue,
    tokenUrl,
    key: keyOfBlue,
    store: createMemoryTokenStore(clock),
    lock: { tryAcquire: async () => "unavailable" as const },
    endpoint: login.endpoint,
    backoff: new EndpointBackoff(clock, random),
    address: new AddressLimiter("https://login", clock, random),
    forcedRefreshes: new ForcedRefreshLimiter(clock),
    thresholds,
    tokenTimeoutMs: 5_000,
    clock,
    random,
    report: () => {},
  };
  const answerAfter = (ms: number, answer: ReturnType<typeof answered> | { kind: "failed" }) =>
    login.next(() => sleep(clock, ms).then(() => answer));
  answerAfter(2_010, answered(429, "", "3600"));
  answerAfter(2_000, { kind: "failed" });
  const need = () => ({ reason: "missing", sinceMs: clock.nowMs(), newerThan: undefined, isAwaited: true }) as const;
  const refreshes = Promise.all([refresh(parts, need()), refresh(parts, need())]);
  await clock.advance(6_000);
  expect(login.requests).toBe(2);
  expect(await Promise.race([refreshes, clock.advance(1)])).toMatchObject([
    { kind: "paused", pause: { status: 429 } },
    { kind: "paused", pause: { status: 429 } },
  ]);
});
