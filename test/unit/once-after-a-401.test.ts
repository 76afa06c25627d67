/** Row 82: an answer of the service uses the key, whatever becomes of the retry after it. */
import { expect, it } from "vitest";
import { systemClock } from "../../src/model/clock.ts";
import { ProxyError } from "../../src/model/errors.ts";
import type { Token, TokenSource } from "../../src/oauth/token.ts";
import { type Sending, SlowAnswers, sendAuthenticated } from "../../src/proxy/forward.ts";
import { CallerLeft } from "../../src/proxy/messages.ts";
import { openContext } from "./open-context.ts";

it("a caller that leaves while the retry finds no connection leaves the 401 behind, which was sent and answered", async () => {
  const token = { credential: "blue" } as Token;
  const source = { get: () => token, replace: async () => token, accepted() {} } as unknown as TokenSource;
  let hasLeft = false;
  const context = openContext(systemClock, 5_000, () => hasLeft);
  let attempts = 0;
  const sending = {
    route: {
      auth: "oauth",
      environment: { name: "sandbox" },
      site: { identifier: "S1", credentials: { owner: "S1" } },
    } as Sending["route"],
    isRepeatable: () => true,
    prepareAttempt: () => async () => {
      attempts += 1;
      if (attempts === 1) return { status: 401, headers: [], body: Buffer.alloc(0), discard() {} };
      hasLeft = true;
      throw new ProxyError("upstream_unreachable", "No connection.");
    },
  };
  const parts = {
    clock: systemClock,
    report() {},
    tokensOf: () => source,
    upstreamHeaders: [],
    slowAnswers: new SlowAnswers(),
  };
  await expect(sendAuthenticated(sending, context, parts)).rejects.toThrow(CallerLeft);
  expect(attempts).toBe(2);
  // By this its key is settled.
  expect(context.event.outcome).toBe("answered");
});
