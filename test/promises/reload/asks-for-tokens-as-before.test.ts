/**
 * Row 54, decision 6: after a reload tokens are asked for as before it. What it closes some time later is nothing that they
 * depend on, and it ends no pause, so that reloading cannot become a way to flood the authorization server.
 */

import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { addressOf } from "../../../testkit/address.ts";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { changed } from "../../../testkit/environment.ts";
import { stageProxy } from "../../../testkit/stage.ts";
import { openTokensOf } from "../../../testkit/token-stage.ts";

const changes: readonly (readonly [what: string, change: (config: Config) => Partial<Config>])[] = [
  ["limits.inFlightPerEnvironment", ({ limits }) => ({ limits: { ...limits, inFlightPerEnvironment: 7 } })],
  ["timeouts.request", ({ timeouts }) => ({ timeouts: { ...timeouts, requestMs: 4_000 } })],
  [
    "the origin of baseUrl",
    (config) =>
      changed(config, ({ baseUrl: { origin, path } }) => ({
        baseUrl: addressOf(`${origin.replace("127.0.0.1", "localhost")}${path}`),
      })),
  ],
  ["a trusted authority", (config) => changed(config, ({ tls }) => ({ tls: { ...tls, ca: "another" } }))],
  ["operations", (config) => changed(config, () => ({ operations: new Set(["create_order"]) }))],
];

it.each(changes)("a new token can be had long after a change of %s", async (_, change) => {
  const { clock, config, reload, simulator, url } = await stageProxy({ oneSet: true });
  expect((await call(url)).status).toBe(200);
  await reload(change(config));
  clock.push(60_000);
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts().tokensIssued).toBe(2);
});

it("a token that was refused is asked for no sooner", async () => {
  const { config, recorder, reload, simulator, url } = await stageProxy({ oneSet: true });
  await recorder.nth("token_adopted", 1);
  simulator.deleteCredentials("blue-id");
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(401);
  const { tokenRequests } = simulator.counts();
  for (let n = 1; n <= 3; n++) {
    // Other timeouts make another source of tokens.
    await reload({ timeouts: { ...config.timeouts, tokenMs: config.timeouts.tokenMs + n } });
    expect((await call(url)).status).toBe(401);
  }
  expect(simulator.counts().tokenRequests).toBe(tokenRequests);
});

it("asks no sooner after a reload where its requests get no answer, unless on another way", async () => {
  const { config } = await new ConfigFolder().loadSound(sound);
  const { clock, login, tokens, apply } = await openTokensOf(config);
  for (let n = 0; n < 1_000; n++) login.next({ kind: "failed" });
  tokens.warm();
  // Chance is at a half: from the tenth failure on the pause is of 15 s.
  await clock.advance(60_000);
  const { requests } = login;
  const environments = new Map(
    Array.from(config.environments, ([name, each]) => {
      return [name, { ...each, baseUrl: { ...each.baseUrl, path: "/other" } }] as const;
    }),
  );
  // Its tokens go elsewhere, so all caches are new.
  const elsewhere = apply({ ...config, environments });
  await clock.advance(1);
  expect(login.requests).toBe(requests);
  await elsewhere;
  const otherwise = apply({ ...config, timeouts: { ...config.timeouts, connectMs: 1 } });
  await clock.advance(5_000);
  await otherwise;
  expect(login.requests).toBeGreaterThan(requests);
});
