import { expect, it } from "vitest";
import { sleep } from "../../../src/model/clock.ts";
import { openSiteTokens } from "../../../testkit/site-tokens.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

/** Some servers keep one token for each client: a new one ends the last one, somewhere within its request. */
it.each([
  [1, 300],
  [4, 50],
  [4, 300],
  [4, 2_000],
  [8, 300],
])(
  "%i replicas at a server that ends each token with the next one, and answers after %i ms",
  async (replicas, answerMs) => {
    const { clock, login, source, openSource, order } = openSiteTokens();
    let active = "";
    let issued = 0;
    for (let n = 0; n < 1_000; n++) {
      login.next(async () => {
        await sleep(clock, answerMs / 2);
        issued += 1;
        active = `token_${issued}`;
        const body = { access_token: active, token_type: "Bearer", expires_in: 60 };
        await sleep(clock, answerMs / 2);
        return answered(200, JSON.stringify(body));
      });
    }
    const sources = [source, ...Array.from({ length: replicas - 1 }, openSource)];
    const statuses: Promise<number | string>[] = [];
    const lives = 12;
    for (let n = 0; n < lives * 600; n++) {
      statuses.push(order((token) => token === active, "S1", sources[n % replicas]).catch(({ code }) => code));
      await clock.advance(100);
    }
    await clock.advance(20_000);
    const failed = (await Promise.all(statuses)).filter((status) => status !== 200);
    expect(failed).toEqual([]);
    // One for each 84 % of a life.
    expect(issued).toBeLessThanOrEqual(Math.ceil(lives / 0.84) + 1);
  },
);
