/** House rule 4: a request meant for OAuth is never signed with a key instead, whatever the configuration let through. */
import { expect, it } from "vitest";
import { systemClock } from "../../src/model/clock.ts";
import type { Environment, Site } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import { forward, SlowAnswers } from "../../src/proxy/forward.ts";
import type { UpstreamRequest } from "../../src/proxy/messages.ts";
import { EventRecorder } from "../../testkit/event-recorder.ts";
import { openContext } from "./open-context.ts";

it("sends nothing for an OAuth site that has a key and no credentials", async () => {
  const key = { identifier: "K1", version: "3.0", secret: new Secret("0123456789abcdef") };
  const site = { identifier: "S1", auth: ["oauth"], keys: [key], defaultKey: key, exempt: new Set<string>() };
  const environment = { name: "sandbox", baseUrl: { path: "" } } as Environment;
  const route = { environment, operation: "create_order", site: site as unknown as Site, auth: "oauth" } as const;
  const prepared = { route: { ...route, key: undefined, identifier: "S1" }, headers: [], parameters: [] };
  const sent: UpstreamRequest[] = [];
  const parts = {
    clock: systemClock,
    report: new EventRecorder().report,
    upstreamHeaders: [],
    slowAnswers: new SlowAnswers(),
    tokensOf: () => expect.unreachable("there is nothing to fetch a token with"),
    async send(upstreamRequest: UpstreamRequest) {
      sent.push(upstreamRequest);
      return { status: 200, headers: [], body: (async function* () {})(), discard: () => {} };
    },
  };
  const context = openContext(systemClock, 1_000);
  const forwarding = forward(prepared, context, parts);
  await expect(forwarding).rejects.toThrow("a site with oauth has credentials");
  expect({ sent, outcome: context.event.outcome }).toEqual({ sent: [], outcome: "not_sent" });
});
