/**
 * After a reload nothing references the former configuration, above all its secrets, once it is not active. A former
 * secret leaves nothing behind: neither its token nor any state about it.
 */
import { queryObjects, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { MemorySet } from "../../src/adapters/memory/token-store.ts";
import { openTokens } from "../../src/app/token-sources.ts";
import { systemClock } from "../../src/model/clock.ts";
import { Secret } from "../../src/model/secret.ts";
import { TokenCache } from "../../src/oauth/token-cache.ts";
import { sitesChanged } from "../../testkit/environment.ts";
import { ShiftedClock } from "../../testkit/shifted-clock.ts";
import { stage } from "../../testkit/stage.ts";
import { TokenEndpointScript } from "../../testkit/token-endpoint-script.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const listener = { bind: anyPort, environment: "sandbox", hosts: [] };

it.each([
  ["with its listeners as they were", [listener, listener]],
  ["with a listener removed", [listener]],
])("after a reload %s, the former environment can be garbage-collected", async (_, listeners) => {
  const clock = new ShiftedClock();
  const { proxy, config } = await stage({ config: { listeners: [listener, listener] }, surroundings: { clock } });
  const copy = () => new Map([...config.environments].map(([name, environment]) => [name, { ...environment }]));
  /** A function of its own, so that no frame holds references afterwards. */
  const enter = async () => {
    const environments = copy();
    await proxy.apply({ ...config, environments, hash: "ba9876543210" }, "sighup");
    return new WeakRef([...environments.values()][0] ?? {});
  };
  const left = await enter();
  await proxy.apply({ ...config, environments: copy(), listeners, hash: "cba987654321" }, "sighup");
  clock.push(60_000);
  const isHeld = () => {
    collectGarbage();
    return left.deref() !== undefined;
  };
  await expect.poll(isHeld).toBe(false);
});

const rotations = 5_000;
/** A few objects are in use, or wait for the collector. */
const most = 100;

it("5,000 rotations keep as much memory as one", async () => {
  const { config, proxy } = await stage({ oneSet: true });
  await proxy.stop("test");
  const login = new TokenEndpointScript();
  // Requests end soon: otherwise the count would include what they may still use.
  const timeouts = { ...config.timeouts, requestMs: 1 };
  const tokens = openTokens(
    () => login.endpoint,
    () => {},
    { clock: systemClock, random: Math.random, report: () => {} },
  );
  const count = () => [TokenCache, MemorySet, Secret].map((kind) => queryObjects(kind, { format: "count" }));
  const before = count();
  for (let n = 0; n < rotations; n++) {
    const clientSecret = new Secret(`canary-client-secret-${n}`);
    const sites = sitesChanged(config, ({ credentials, ...site }) => {
      if (credentials === undefined) return { ...site, credentials };
      const [first, ...rest] = credentials.sets.map((set) => ({ ...set, clientSecret }));
      return { ...site, credentials: { ...credentials, sets: [first ?? expect.unreachable(), ...rest] } };
    });
    const next = { ...config, ...sites, timeouts };
    await tokens.prepare(next);
    tokens.commit(next);
  }
  // Nothing waits for the first secret's token.
  expect(login.requests).toBeGreaterThanOrEqual(rotations - 1);
  const isBounded = () => {
    const [sources = 0, sets = 0, secrets = 0] = count().map((now, kind) => now - (before[kind] ?? 0));
    expect({ sources, sets, secrets, areFew: Math.max(sources, sets, secrets) < most }).toMatchObject({ areFew: true });
  };
  await expect.poll(() => isBounded()).toBeUndefined();
  await tokens.close();
});
