/** Properties of sending that no test over sockets can show, since other code already prevents the case. They must hold even if that code changes. */
import { expect, it, vi } from "vitest";
import { systemClock } from "../../src/model/clock.ts";
import { ProxyError } from "../../src/model/errors.ts";
import { Secret } from "../../src/model/secret.ts";
import type { Token, TokenSource } from "../../src/oauth/token.ts";
import { carry, schemes } from "../../src/serving/authentication.ts";
import { forward, type Sending, SlowAnswers } from "../../src/serving/forward.ts";
import type { Unauthenticated } from "../../src/serving/messages.ts";
import { siteOf } from "../../testkit/environment.ts";
import { issued } from "../../testkit/issued-token.ts";
import { openContext } from "./open-context.ts";

const common = { clock: systemClock, report() {}, upstreamHeaders: [], slowAnswers: new SlowAnswers() };
const environment = { name: "sandbox", baseUrl: { path: "" } };

/** House rule 4, even if the configuration should allow otherwise. */
it("a request meant for OAuth is never signed with a key instead", async () => {
  const key = { identifier: "K1", version: "3.0", secret: new Secret("0123456789abcdef") };
  const site = siteOf("S1", { auth: ["oauth"], keys: [key] });
  const request = { route: { environment, site }, parameters: [] } as unknown as Unauthenticated;
  const tokensOf = () => expect.unreachable("there is nothing to fetch a token with");
  const material = schemes.oauth.acquire(request, openContext(systemClock, 1_000), { report() {}, tokensOf });
  await expect(material).rejects.toThrow("a site with oauth has credentials");
});

/** An answer of the service uses up the key, whatever happens to the retry after the answer. */
it("a request whose caller leaves while the retry finds no connection counts as answered, by its 401", async () => {
  const token: Token = { ...issued("t", 0), id: "1", credential: "blue", issuedAtMs: 0 };
  const source = { replace: async () => token, accepted() {} } as unknown as TokenSource;
  let hasLeft = false;
  const context = openContext(systemClock, 5_000, () => hasLeft);
  const attempt = vi.fn(async () => {
    hasLeft = true;
    throw new ProxyError("upstream_unreachable", "No connection.");
  });
  attempt.mockResolvedValueOnce({ status: 401, headers: [], body: Buffer.alloc(0), discard() {} } as never);
  const site = { identifier: "S1", credentials: { owner: "S1" } };
  const route = { environment, site } as unknown as Sending<object>["route"];
  const sending = { route, request: {}, isRepeatable: () => true, send: attempt };
  const sent = forward(sending, carry(token, source, route), context, common);
  expect(await sent).toMatchObject({ status: 401 });
  expect(attempt).toHaveBeenCalledTimes(2);
  // With this outcome the key's claim is settled.
  expect(context.event.outcome).toBe("answered");
});
