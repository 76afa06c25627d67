/** A server may repeat a token while it is valid (RFC 6749): this causes no flood of requests, and an expired token is not attached. */
import { describe, expect, it } from "vitest";
import { freshness } from "../../../src/oauth/token.ts";
import { hourMs, openSiteTokens, thresholds } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

const mostRequests = 5_000;

describe("an authorization server that repeats its token", () => {
  it("gets requests with pauses while the token is due, not with every call", async () => {
    const { clock, login, get } = stage();
    await get();
    await clock.advance(0.84 * hourMs - 10_000);
    for (let second = 0; second < 70; second++) {
      await get();
      await clock.advance(1_000);
    }
    expect(login.requests - 1).toBeLessThanOrEqual(6);
    expect(login.requests - 1).toBeGreaterThanOrEqual(1);
  });

  it("is not asked again for an unused token, which then expires", async () => {
    const { clock, get, recorder } = stage();
    await get();
    await clock.advance(0.84 * hourMs);
    await clock.advance(hourMs);
    expect(recorder.count("token_lapsed")).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it("never has its token attached within the leeway", async () => {
    const { clock, source, endsMs, deadline } = stage();
    await source.get(deadline());
    await clock.advance(0.84 * hourMs);
    await source.get(deadline());
    await clock.advance(endsMs - 30_000 - clock.nowMs());
    const getting = source.get(deadline());
    await clock.advance(1_100);
    expect(freshness(await getting, thresholds, clock.nowMs())).not.toBe("expired");
  });

  it("gets three requests a minute at most, though ten sites get only 401", async () => {
    const { clock, source, login, callInVain, deadline } = stage();
    await source.get(deadline());
    const untilMs = clock.nowMs() + 59_000;
    for (let n = 0; clock.nowMs() < untilMs; n++) await callInVain(`S${n % 10}`);
    expect(login.requests - 1).toBeLessThanOrEqual(3);
    expect(login.requests - 1).toBeGreaterThanOrEqual(1);
  });

  it("gets three requests a minute at most, though another operation of the site is accepted", async () => {
    const { clock, source, login, callInVain, deadline } = stage();
    source.accepted(await source.get(deadline()), "S1", clock.nowMs());
    const untilMs = clock.nowMs() + 59_000;
    while (clock.nowMs() < untilMs) {
      await callInVain("S1");
      source.accepted(await source.get(deadline()), "S1", clock.nowMs());
    }
    expect(login.requests - 1).toBeLessThanOrEqual(3);
    expect(login.requests - 1).toBeGreaterThanOrEqual(1);
  });
});

it("a token that has expired on arrival is not attached", async () => {
  const { clock, login, source } = openSiteTokens();
  login.lifetimeSeconds = 1;
  const release = login.hold();
  const getting = source.get(clock.nowMs() + 5_000);
  const refused = expect(getting).rejects.toMatchObject({ code: "token_unavailable" });
  await clock.advance(1_500);
  release();
  await clock.advance(5_000);
  await refused;
});

function stage() {
  const tokens = openSiteTokens();
  const { clock, login, source, deadline, replace } = tokens;
  const endsMs = clock.nowMs() + hourMs;
  const repeat = () => {
    const expiresIn = Math.max(1, Math.floor((endsMs - clock.nowMs()) / 1_000));
    return answered(200, JSON.stringify({ access_token: "same", token_type: "Bearer", expires_in: expiresIn }));
  };
  for (let n = 0; n < mostRequests; n++) login.next(repeat);
  /** A call that gets 401, whatever token it has. */
  const callInVain = async (site: string) => replace(await source.get(deadline()), site);
  return { ...tokens, endsMs, callInVain };
}
