import { expect, it, onTestFinished } from "vitest";
import { openUpstreams } from "../../../src/app/upstreams.ts";
import type { Config } from "../../../src/config/config.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

it("connections that a reload has left are ended with all others, and not once more when their time is up", async () => {
  const refused: unknown[] = [];
  const onRefused = (reason: unknown) => refused.push(reason);
  process.on("unhandledRejection", onRefused);
  onTestFinished(() => void process.off("unhandledRejection", onRefused));
  const clock = new FakeClock();
  const upstreams = openUpstreams(clock);
  for (const config of await bothConfigs()) {
    await upstreams.prepare(config);
    upstreams.commit(config);
  }
  expect(clock.pending).toBe(1);
  await upstreams.close();
  await clock.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toEqual([]);
});

it("connections that a reload was preparing when everything ended are ended at once", async () => {
  const clock = new FakeClock();
  const upstreams = openUpstreams(clock);
  const [first, next] = await bothConfigs();
  await upstreams.prepare(first);
  upstreams.commit(first);
  await upstreams.close();
  await upstreams.prepare(next);
  upstreams.commit(first);
  expect(clock.pending).toBe(0);
});

/** Two that differ in the service's address. */
async function bothConfigs(): Promise<readonly [Config, Config]> {
  const other = edited(["https://api.sandbox.example", "https://other.sandbox.example"]);
  const folder = new ConfigFolder();
  return [(await folder.loadSound(sound)).config, (await folder.loadSound(other)).config];
}
