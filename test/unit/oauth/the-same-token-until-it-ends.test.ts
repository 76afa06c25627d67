/** An authorization server that gives one token until it ends; `expires_in` is what is left, 0 in the last second. */
import { describe, expect, it } from "vitest";
import { sleep } from "../../../src/model/clock.ts";
import { openSiteTokens } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

const round = { down: Math.floor, up: Math.ceil };

describe.each([1, 4])("%i replicas at a server that gives the same token until it ends", (replicas) => {
  it.each<Omit<Options, "replicas">>([
    { lifeMs: 60_000, aheadMs: 0, rounding: "down", orderEveryMs: 100 },
    { lifeMs: 60_000, aheadMs: 2_000, rounding: "down", orderEveryMs: 100 },
    { lifeMs: 60_000, aheadMs: -2_000, rounding: "down", orderEveryMs: 100 },
    { lifeMs: 60_000, aheadMs: 0, rounding: "up", orderEveryMs: 100 },
    { lifeMs: 20_000, aheadMs: 0, rounding: "down", orderEveryMs: 50 },
    { lifeMs: 3_600_000, aheadMs: 2_000, rounding: "down", orderEveryMs: 1_000 },
  ])("request three tokens a life at most, and refuse no order: %o", async (options) => {
    const { failed, requests } = await play({ ...options, replicas }, options.lifeMs > 60_000 ? 3 : 4);
    expect(failed).toEqual([]);
    expect(Math.max(...requests), requests.join(" ")).toBeLessThanOrEqual(3);
    expect(Math.min(...requests)).toBeGreaterThanOrEqual(1);
  });
});

it("an order in the leeway of such a token waits for the next one, which is requested because this one has expired", async () => {
  const { clock, login, recorder, get } = openSiteTokens();
  const endsMs = clock.nowMs() + 60_000;
  login.answer(() => {
    const leftMs = endsMs - clock.nowMs();
    const expires_in = leftMs > 0 ? Math.ceil(leftMs / 1_000) : 60;
    return answered(
      200,
      JSON.stringify({ access_token: leftMs > 0 ? "one" : "two", token_type: "Bearer", expires_in }),
    );
  });
  await get();
  await clock.advance(58_000);
  const waiting = get();
  await clock.advance(4_000);
  expect(await waiting).toBe("two");
  const reasons = recorder.of("token_requested").map(({ reason }) => reason);
  expect([reasons[0], reasons.at(-1)]).toEqual(["missing", "expired"]);
});

it("an order that gets 401 then waits for timeouts.token at most after that token's end", async () => {
  const { clock, login, source, deadline } = openSiteTokens();
  const endsMs = clock.nowMs() + 60_000;
  login.answer(() => {
    const expires_in = Math.ceil((endsMs - clock.nowMs()) / 1_000);
    return answered(200, JSON.stringify({ access_token: "one", token_type: "Bearer", expires_in }));
  });
  const token = await source.get(deadline());
  await clock.advance(58_000);
  let result: unknown = "none yet";
  void source.replace(token, "S1", deadline()).then((found) => {
    result = found;
  });
  await clock.advance(1_500);
  login.hold();
  await clock.advance(5_000);
  expect(result).toBe("none yet");
  await clock.advance(1_000);
  expect(result).toBe("too_late");
});

it("an order that gets 401 in the token's last seconds waits for the next token, and uses its one retry", async () => {
  const { failed, requests } = await play(
    { lifeMs: 60_000, replicas: 1, aheadMs: 6_000, rounding: "down", orderEveryMs: 500 },
    4,
  );
  expect(failed).toEqual([]);
  expect(Math.max(...requests), requests.join(" ")).toBeLessThanOrEqual(4);
});

interface Options {
  readonly lifeMs: number;
  readonly replicas: number;
  /** How far the service's clock is ahead of the authorization server's. */
  readonly aheadMs: number;
  readonly rounding: keyof typeof round;
  readonly orderEveryMs: number;
}

/** Plays orders for some lives of the server's tokens. The server answers after 100 ms. */
async function play({ lifeMs, replicas, aheadMs, rounding, orderEveryMs }: Options, lives: number) {
  const { clock, login, source, openSource, order } = openSiteTokens();
  const startMs = clock.nowMs() - 0.3 * lifeMs;
  const lifeAt = (ms: number) => Math.floor((ms - startMs) / lifeMs);
  const requests: number[] = [];
  for (let n = 0; n < 1_000; n++) {
    login.next(async () => {
      await sleep(clock, 100);
      const life = lifeAt(clock.nowMs());
      requests[life] = (requests[life] ?? 0) + 1;
      const leftMs = startMs + (life + 1) * lifeMs - clock.nowMs();
      const expires_in = round[rounding](leftMs / 1_000);
      return answered(200, JSON.stringify({ access_token: `token_${life}`, token_type: "Bearer", expires_in }));
    });
  }
  const sources = [source, ...Array.from({ length: replicas - 1 }, openSource)];
  const takes = (token: string) => token === `token_${lifeAt(clock.nowMs() + aheadMs)}` || aheadMs < 0;
  const statuses: Promise<number | string>[] = [];
  for (let n = 0; n * orderEveryMs < lives * lifeMs; n++) {
    statuses.push(order(takes, "S1", sources[n % replicas]).catch(({ code }) => code));
    await clock.advance(orderEveryMs);
  }
  await clock.advance(20_000);
  const failed = (await Promise.all(statuses)).filter((status) => status !== 200);
  return { failed, requests: requests.slice(1, lives) };
}
