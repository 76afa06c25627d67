import { describe, expect, it } from "vitest";
import { answered } from "../../../testkit/token-endpoint-script.ts";
import { show, stageTokens } from "../../../testkit/token-stage.ts";

function stage() {
  const staged = stageTokens();
  const { clock, login, order } = staged;
  /** An order of a site at a service that accepts such tokens, with a second for a refresh. */
  const call = async (site: string, takes: (token: string) => boolean) => {
    const answer = order(takes, site);
    await clock.advance(1_000);
    return answer;
  };
  return { ...staged, call, requests: () => login.requests };
}

const never = () => false;
const always = () => true;

describe("after a 401", () => {
  it("one forced refresh serves every request that was refused", async () => {
    const { clock, source, deadline, login } = stage();
    const refused = await source.get(deadline());
    const replacing = Promise.all(Array.from({ length: 1_000 }, () => source.replace(refused, "S1", deadline())));
    await clock.advance(1_000);
    const newer = await replacing;
    expect(new Set(newer.map(show))).toEqual(new Set(["token_2"]));
    expect(login.requests).toBe(2);
  });

  it("a late 401 for an old token finds the new token, and evicts nothing", async () => {
    const { source, deadline, login, get, replace } = stage();
    const old = await source.get(deadline());
    await replace(old);
    const late = await source.replace(old, "S1", deadline());
    expect(show(late)).toBe("token_2");
    expect(await get()).toBe("token_2");
    expect(login.requests).toBe(2);
  });

  it("a failed refresh returns no token, and keeps the present one", async () => {
    const { source, deadline, login, get, replace } = stage();
    const token = await source.get(deadline());
    login.next(answered(429, "", "60"));
    expect(await replace(token)).toBe("no_token");
    expect(await get()).toBe("token_1");
  });

  it("a failed refresh of a fresh token is not tried again by the timer: the next 401 decides", async () => {
    const { clock, source, deadline, login, replace } = stage();
    const token = await source.get(deadline());
    login.next(answered(429, "", "2"));
    expect(await replace(token)).toBe("no_token");
    await clock.advance(60_000);
    expect(login.requests).toBe(2);
  });

  it("a request waits no longer than its deadline", async () => {
    const { clock, source, deadline, login } = stage();
    const token = await source.get(deadline());
    login.hold();
    const replacing = source.replace(token, "S1", clock.nowMs() + 3_000);
    await clock.advance(3_000);
    expect(await replacing).toBe("too_late");
  });
});

describe("401 for ever", () => {
  it("uses one token, then waits in pauses that grow: 20 s, 20 s, 40 s, 80 s", async () => {
    const { clock, call, requests, recorder } = stage();
    expect(await call("S1", never)).toBe(401);
    expect(requests()).toBe(2);
    const counts: number[] = [];
    for (const pauseMs of [20_000, 20_000, 40_000, 80_000]) {
      await clock.advance(pauseMs - 3_000);
      expect(await call("S1", never)).toBe(401);
      counts.push(requests());
      await clock.advance(3_000);
      expect(await call("S1", never)).toBe(401);
      counts.push(requests());
    }
    expect(counts).toEqual([2, 3, 3, 4, 4, 5, 5, 6]);
    const reasons = recorder.of("refresh_suppressed").map(({ reason }) => reason);
    expect(reasons).toEqual(["limited", "paused", "paused", "paused"]);
  });

  it("pauses a site also if its service takes longer than a minute to refuse", async () => {
    const { clock, source, requests } = stage();
    const lateMs = 61_000;
    const call = async () => {
      const token = await source.get(clock.nowMs() + 600_000);
      await clock.advance(lateMs);
      await source.replace(token, "S1", clock.nowMs() + 600_000);
      await clock.advance(lateMs);
    };
    for (let n = 0; n < 30; n++) await call();
    expect(requests()).toBeLessThanOrEqual(10);
  });

  it("on one operation of a site whose other calls are accepted uses three tokens a minute at most", async () => {
    const { clock, source, deadline, requests } = stage();
    const minutes: number[] = [];
    for (let minute = 0; minute < 5; minute++) {
      const before = requests();
      for (let second = 0; second < 60; second += 2) {
        const token = await source.get(deadline());
        const replacing = source.replace(token, "S1", deadline());
        await clock.advance(2_000);
        const newer = await replacing;
        // A call of the other operation is accepted with the new token before the retry returns.
        source.accepted(typeof newer === "string" ? token : newer, "S1");
      }
      minutes.push(requests() - before);
    }
    // The first minute also has the initial token.
    expect(minutes[0]).toBeLessThanOrEqual(4);
    for (const issued of minutes.slice(1)) expect(issued).toBeLessThanOrEqual(3);
  });

  it("delays the replacement of a token that was accepted and then revoked, by two 401s", async () => {
    const { clock, call, requests } = stage();
    await call("S1", never);
    await clock.advance(20_000);
    await call("S1", never);
    expect(await call("S1", always)).toBe(200);
    const before = requests();
    // The site's pause is 20 s, and half of it is over.
    await clock.advance(8_000);
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push(await call("S1", (token) => token === `token_${before + 1}`));
    expect(statuses).toEqual([401, 401, 200]);
    expect(requests()).toBe(before + 1);
  });
});

it("a token revoked again soon is replaced again when the new one had been accepted", async () => {
  const { call } = stage();
  expect(await call("S1", (token) => token === "token_1")).toBe(200);
  expect(await call("S1", (token) => token === "token_2")).toBe(200);
  expect(await call("S1", (token) => token === "token_3")).toBe(200);
});
