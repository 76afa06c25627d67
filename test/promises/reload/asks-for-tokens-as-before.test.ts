/** Row 54: a reload closes what it has left some time later; by then nothing that stays may depend on it. */
import { expect, it } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import type { Environment } from "../../../src/model/environment.ts";
import { addressOf } from "../../../testkit/address.ts";
import { call } from "../../../testkit/call.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stageProxy } from "../../../testkit/stage.ts";

const withEnvironment = (config: Config, change: (before: Environment) => Partial<Environment>): Config => {
  const changed = [...config.environments.values()].map((before) => ({ ...before, ...change(before) }));
  return { ...config, environments: new Map(changed.map((environment) => [environment.name, environment])) };
};

const changes: Readonly<Record<string, (config: Config) => Config>> = {
  "limits.inFlightPerEnvironment": (config) => ({ ...config, limits: { ...config.limits, inFlightPerEnvironment: 7 } }),
  "timeouts.request": (config) => ({ ...config, timeouts: { ...config.timeouts, requestMs: 4_000 } }),
  "the origin of baseUrl": (config) =>
    withEnvironment(config, ({ baseUrl: { origin, path } }) => ({
      baseUrl: addressOf(`${origin.replace("127.0.0.1", "localhost")}${path}`),
    })),
  "another trusted authority": (config) => withEnvironment(config, ({ tls }) => ({ tls: { ...tls, ca: "another" } })),
  operations: (config) => withEnvironment(config, () => ({ operations: new Set(["create_order"]) })),
};

it.each(Object.keys(changes))("a new token can be had long after a change of %s", async (name) => {
  const clock = new ShiftedClock();
  const { proxy, simulator, config, url } = await stageProxy({ oneSet: true, surroundings: { clock } });
  expect((await call(url)).status).toBe(200);
  const next = changes[name]?.(config) ?? config;
  await proxy.apply({ ...next, hash: "ba9876543210" }, "sighup");
  clock.push(60_000);
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts().tokensIssued).toBe(2);
});
