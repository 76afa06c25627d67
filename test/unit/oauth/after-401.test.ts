import { describe, expect, it } from "vitest";
import { openSiteTokens } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

it("after a 401, a failed refresh of a fresh token is not tried again by the timer: the next 401 decides", async () => {
  const { clock, source, deadline, login, replace } = openSiteTokens();
  const token = await source.get(deadline());
  login.next(answered(429, "", "2"));
  expect(await replace(token)).toBe("no_token");
  await clock.advance(60_000);
  expect(login.requests).toBe(2);
});

describe("401 for ever", () => {
  it("pauses a site also if its service takes longer than a minute to refuse", async () => {
    const { clock, source, login } = openSiteTokens();
    const lateMs = 61_000;
    const call = async () => {
      const token = await source.get(clock.nowMs() + 600_000);
      await clock.advance(lateMs);
      await source.replace(token, "S1", clock.nowMs() + 600_000);
      await clock.advance(lateMs);
    };
    for (let n = 0; n < 30; n++) await call();
    expect(login.requests).toBeLessThanOrEqual(10);
  });

  it("on one operation of a site whose other calls are accepted uses three tokens a minute at most", async () => {
    const { clock, source, deadline, login } = openSiteTokens();
    const minutes: number[] = [];
    for (let minute = 0; minute < 5; minute++) {
      const before = login.requests;
      for (let second = 0; second < 60; second += 2) {
        const token = await source.get(deadline());
        const replacing = source.replace(token, "S1", deadline());
        await clock.advance(1_000);
        // A call of the other operation is accepted with the present token before the retry is refused.
        source.accepted(await source.get(deadline()), "S1", clock.nowMs());
        await clock.advance(1_000);
        const newer = await replacing;
        if (typeof newer !== "string") source.refused(newer, "S1");
      }
      minutes.push(login.requests - before);
    }
    // The first minute also has the initial token.
    expect(minutes[0]).toBeLessThanOrEqual(4);
    for (const issued of minutes.slice(1)) expect(issued).toBeLessThanOrEqual(3);
  });

  it("within a window delays the replacement of a token that was accepted and then revoked, by eleven 401s", async () => {
    const { clock, login, order } = openSiteTokens();
    /** An order, with time for a refresh. */
    const call = async (takes: (token: string) => boolean, forMs = 1_000) => {
      const answer = order(takes);
      await clock.advance(forMs);
      return answer;
    };
    await call(() => false);
    await clock.advance(20_000);
    await call(() => false);
    expect(await call(() => true)).toBe(200);
    const before = login.requests;
    // The site's pause is 20 s, and half of it is over.
    await clock.advance(8_000);
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) statuses.push(await call((token) => token === `token_${before + 1}`, 500));
    expect(statuses).toEqual([...Array<number>(11).fill(401), 200]);
    expect(login.requests).toBe(before + 1);
  });
});
