/** Row 101: a change among thousands of files is reported at once if the system reports it, otherwise found by stamps. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { FolderWatch } from "../../src/config/files/folder-watch.ts";
import { systemClock } from "../../src/model/clock.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

/** A watch of one folder; the test makes its events and stamps. */
function stage(count = 1) {
  const clock = new FakeClock();
  const told: string[][] = [];
  const stamps = new Map(Array.from({ length: count }, (_, n) => [`/d/${n}`, "as read"]));
  let onEvent = (_: string | undefined): void => {};
  let [ended, looks] = [0, 0];
  const watch = new FolderWatch(clock, (changed) => void told.push([...changed]), {
    watch(_, given) {
      onEvent = given;
      return () => {
        ended += 1;
      };
    },
    async stamp(path) {
      looks += 1;
      return stamps.get(path) ?? "ENOENT";
    },
  });
  const folder = { path: "/d/", stamps: [...stamps] };
  watch.follow([folder]);
  const event = (name?: string) => onEvent(name);
  return { clock, watch, told, stamps, folder, event, ended: () => ended, looks: () => looks };
}

it("reports all changed files together, once there are no further changes", async () => {
  const { clock, told, event } = stage();
  for (const name of [".S1.yaml.swp", "S1.yaml", "S2.yaml", "S1.yaml"]) {
    event(name);
    await clock.advance(60);
  }
  expect(told).toEqual([]);
  await clock.advance(60);
  expect(told).toEqual([["/d/S1.yaml", "/d/S2.yaml"]]);
});

it("does not wait for changes that never end", async () => {
  const { clock, told, event } = stage();
  for (let n = 0; n < 30; n += 1) {
    event("S1.yaml");
    await clock.advance(50);
  }
  expect(told.length).toBe(1);
});

it.each([["..data"], [undefined]])("reports the whole folder if %s has changed", async (name) => {
  const { clock, told, event } = stage();
  event(name);
  await clock.advance(100);
  expect(told).toEqual([["/d/"]]);
});

it("finds a change without an event by its stamp, within a minute among 20,000 files, and looks at no more than 400 in a second", async () => {
  const { clock, told, stamps, looks } = stage(20_000);
  await clock.advance(2_000);
  const before = looks();
  await clock.advance(1_000);
  expect(looks() - before).toBeLessThan(400);
  stamps.set("/d/0", "changed");
  await clock.advance(65_000);
  expect(told[0]).toEqual(["/d/0"]);
});

it("looks at no file, and has no timer, once it is closed", async () => {
  const { clock, watch, event, ended, looks } = stage();
  event("S1.yaml");
  watch.close();
  await clock.advance(10_000);
  expect([ended(), looks(), clock.pending]).toEqual([1, 0, 0]);
});

it("keeps its place in the round when one file was read again", async () => {
  const { clock, watch, folder, looks } = stage(1_000);
  for (let n = 0; n < 30; n += 1) {
    await clock.advance(200);
    watch.follow([folder]);
  }
  expect(looks()).toBeGreaterThan(900);
});

it("reports a file that is written, renamed or removed in a real folder, also in one that replaces it", async () => {
  const path = `${join(emptyFolder(), "sites")}/`;
  mkdirSync(path);
  let tell = (_: readonly string[]): void => {};
  const watch = new FolderWatch(systemClock, (changed) => tell([...changed]));
  onTestFinished(() => watch.close());
  watch.follow([{ path, stamps: [] }]);
  const next = (change: () => void) =>
    new Promise<readonly string[]>((resolve) => {
      tell = resolve;
      change();
    });
  const [one, two] = [join(path, "S1.yaml"), join(path, "S2.yaml")];
  expect(await next(() => writeFileSync(one, "keys"))).toEqual([one]);
  expect((await next(() => renameSync(one, two))).toSorted()).toEqual([one, two]);
  expect(await next(() => rmSync(two))).toEqual([two]);
  renameSync(path, `${path.slice(0, -1)}-former`);
  mkdirSync(path);
  watch.follow([{ path, stamps: [] }]);
  expect(await next(() => writeFileSync(one, "keys"))).toEqual([one]);
});
