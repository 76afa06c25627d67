import { expect, it, vi } from "vitest";
import { systemClock } from "../../src/model/clock.ts";
import { ProxyError } from "../../src/model/errors.ts";
import { bridge } from "../../src/proxy/bridge.ts";
import type { PreparedRequest } from "../../src/proxy/messages.ts";
import { siteOf } from "../../testkit/environment.ts";
import { openContext } from "./open-context.ts";

// No token is asked for once something was sent, so this cannot happen on sockets. It must not happen whoever changes that.
it("signs nothing once an attempt was made, whatever comes of the token", async () => {
  const context = openContext(systemClock, 1_000);
  context.event.attempts = 1;
  const site = siteOf("S1", { auth: ["oauth", "hmac"], bridge: "hmac" });
  const prepared = { route: { site }, headers: [], parameters: [] } as unknown as PreparedRequest;
  const refusal = new ProxyError("token_unavailable", "No token.");
  const send = vi.fn(() => Promise.reject(refusal));
  const parts = { source: { outage: () => undefined }, report: () => {} };
  await expect(bridge(prepared, send, context, parts)).rejects.toBe(refusal);
  expect(send).toHaveBeenCalledOnce();
});
