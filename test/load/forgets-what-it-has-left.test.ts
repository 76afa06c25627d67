/** Row 54: a reload lets go of what it has left, secrets first of all: nothing holds a configuration that is not active. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { ShiftedClock } from "../../testkit/shifted-clock.ts";
import { stageProxy } from "../../testkit/stage.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const listener = { bind: anyPort, environment: "sandbox", hosts: [] };

it.each([
  ["with its listeners as they were", [listener, listener]],
  ["with a listener removed", [listener]],
])("%s, the environment of before can be collected", async (_, listeners) => {
  const clock = new ShiftedClock();
  const { proxy, config } = await stageProxy({ config: { listeners: [listener, listener] }, surroundings: { clock } });
  const copy = () => new Map([...config.environments].map(([name, environment]) => [name, { ...environment }]));
  /** In a function of its own, whose frame holds nothing afterwards. */
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
