import { expect, it, onTestFinished } from "vitest";
import { openUpstreams } from "../../src/wiring/upstreams.ts";
import { ConfigFolder, edited, sound } from "../config/config-folder.ts";
import { FakeClock } from "../support/fake-clock.ts";

it("connections that a reload has left are ended with all others, and not once more when their time is up", async () => {
  const refused: unknown[] = [];
  const onRefused = (reason: unknown) => refused.push(reason);
  process.on("unhandledRejection", onRefused);
  onTestFinished(() => void process.off("unhandledRejection", onRefused));
  const clock = new FakeClock();
  const upstreams = openUpstreams(clock);
  for (const yaml of [sound, edited(["https://api.sandbox.example", "https://other.sandbox.example"])]) {
    const loaded = await new ConfigFolder().load(yaml);
    if (loaded.kind === "refused") throw new Error("a sound configuration was refused");
    await upstreams.prepare(loaded.config);
    upstreams.use(loaded.config);
  }
  expect(clock.pending).toBe(1);
  await upstreams.close();
  await clock.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(refused).toEqual([]);
});
