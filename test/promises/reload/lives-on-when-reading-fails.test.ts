/** Row 54: a configuration that cannot even be read to its end leaves the old one active, and the next change is taken up. */
import { expect, it, onTestFinished } from "vitest";
import { Reloader } from "../../../src/app/reload.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { EventRecorder } from "../../../testkit/event-recorder.ts";

/** A proxy that takes up every configuration, and whose reading fails as often as it is told to. */
async function stage() {
  const folder = new ConfigFolder();
  const recorder = new EventRecorder();
  const first = await folder.loadSound(sound);
  let { config } = first;
  const running = {
    get config() {
      return config;
    },
    async apply(next: typeof config) {
      config = next;
    },
  };
  const failures: Error[] = [];
  const load = () => {
    const failure = failures.shift();
    return failure === undefined ? loadConfig(`${folder.path}/countersign.yaml`) : Promise.reject(failure);
  };
  const applied: number[] = [];
  const onApplied = ({ timeouts }: typeof config) => void applied.push(timeouts.requestMs);
  const reloader = new Reloader(
    { running, load, clock: systemClock, report: recorder.report, onApplied, warn: () => {} },
    first,
  );
  onTestFinished(() => reloader.close());
  const write = (more: string) => folder.write("countersign.yaml", `${sound.replaceAll("DIR", folder.path)}${more}\n`);
  return { recorder, reloader, failures, applied, write };
}

it("tells of a defect while reading, refuses, and reads again when asked", async () => {
  const { recorder, reloader, failures, applied, write } = await stage();
  write("timeouts: { request: 19s }");
  failures.push(new TypeError("canary"));
  await reloader.reload("sighup");
  expect(recorder.of("defect")).toEqual([
    { kind: "defect", where: "reload", error: expect.stringMatching(/^TypeError at /) },
  ]);
  expect(recorder.of("config_refused")).toMatchObject([
    { trigger: "sighup", problems: ["Countersign failed in a way that it should not"] },
  ]);
  expect(applied).toEqual([]);
  await reloader.reload("sighup");
  expect(applied).toEqual([19_000]);
});

it("notices the next change of a file also after a change that could not be read", async () => {
  const { recorder, failures, applied, write } = await stage();
  failures.push(new TypeError("canary"));
  write("timeouts: { request: 19s }");
  await recorder.nth("config_refused", 1);
  write("timeouts: { request: 18s }");
  await expect.poll(() => applied, { timeout: 10_000 }).toEqual([18_000]);
  expect(recorder.count("config_refused")).toBe(1);
});
