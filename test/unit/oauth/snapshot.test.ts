/** The state of a site's credential sets that gauges, /status and readiness read. */
import { expect, it } from "vitest";
import { answered } from "../../../testkit/token-endpoint-script.ts";
import { hourMs, stageTokens } from "../../../testkit/token-stage.ts";

const unused = {
  environment: "test",
  token: undefined,
  lastUsedMs: undefined,
  backoffUntilMs: undefined,
  isInOutage: false,
};

it("says before any request that the first set is active and no set has a token", () => {
  const { source } = stageTokens(["blue", "green"]);
  expect(source.snapshot()).toEqual([
    { ...unused, credential: "S1/blue", isActive: true },
    { ...unused, credential: "S1/green", isActive: false },
  ]);
});

it("says where a token came from, when it expires and when it was used last", async () => {
  const { clock, source, openSource, get } = stageTokens();
  await get();
  const token = { lifetimeMs: hourMs, expiresAtMs: clock.nowMs() + hourMs, issuedHere: true, reason: "missing" };
  expect(source.snapshot()).toMatchObject([{ isActive: true, token, lastUsedMs: clock.nowMs() }]);
  const usedAtMs = clock.nowMs();
  await clock.advance(1_000);
  expect(source.snapshot()).toMatchObject([{ token, lastUsedMs: usedAtMs }]);
  const other = openSource();
  other.warm();
  await clock.advance(0);
  expect(other.snapshot()).toMatchObject([
    { token: { ...token, issuedHere: false, reason: "start" }, lastUsedMs: undefined },
  ]);
});

it("says until when no token is requested, and which set serves meanwhile", async () => {
  const { clock, login, source, get } = stageTokens(["blue", "green"]);
  login.next(answered(401));
  await get();
  expect(source.snapshot()).toMatchObject([
    { credential: "S1/blue", isActive: false, token: undefined, backoffUntilMs: clock.nowMs() + 10_000 },
    { credential: "S1/green", isActive: true, token: { issuedHere: true }, backoffUntilMs: undefined },
  ]);
  await clock.advance(10_000);
  expect(source.snapshot()).toMatchObject([{ backoffUntilMs: undefined }, {}]);
});

it("says that a token is gone after it has expired", async () => {
  const { clock, source, get } = stageTokens();
  await get();
  await clock.advance(2 * hourMs);
  expect(source.snapshot()).toMatchObject([{ isActive: true, token: undefined, backoffUntilMs: undefined }]);
});
