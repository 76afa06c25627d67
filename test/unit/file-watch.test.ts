/**
 * A change of a file's content is found within seconds, however it was made; a watch without changes only looks at
 * stamps, and reads nothing. A change among thousands of files in a folder is reported at once if the system reports it,
 * otherwise found by stamps.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { codeOf, readRegularFile, stampOf } from "../../src/config/files/file-system.ts";
import { digestOf, FileWatch, type WatchableFiles } from "../../src/config/files/watch.ts";
import { systemClock } from "../../src/model/clock.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

/** Files with one content. A look at them ends at once, or when the test says so. */
class FakeFiles implements WatchableFiles {
  content = "first";
  looks = 0;
  reads = 0;
  /** Makes a new stamp; the content may stay the same. */
  touched = 0;
  untilLooked: Promise<void> = Promise.resolve();

  async read(): Promise<Uint8Array> {
    this.reads += 1;
    return Buffer.from(this.content);
  }

  async stamp(): Promise<string> {
    this.looks += 1;
    const stamp = `${this.content} ${this.touched}`;
    await this.untilLooked;
    return stamp;
  }

  watch() {
    return () => {};
  }
}

it.each([
  [1, 30],
  [2_000, 30_000],
  [10_000, 120_000],
])("an idle watch of %i files looks %i times in a minute, and reads nothing", async (count, looks) => {
  const { clock, changes, since } = await startWatch({ count });
  await clock.advance(60_000);
  expect(since()).toEqual([looks, 0]);
  expect(clock.pending).toBe(1);
  expect(changes()).toBe(0);
});

it("a change between reading and watching is found soon", async () => {
  const { changes } = await startWatch({ readAs: "before" });
  expect(changes()).toBe(1);
});

it("a change is reported once, as soon as it is stable", async () => {
  const { clock, files, changes } = await startWatch({});
  files.content = "second";
  await clock.advance(2_000);
  files.content = "third";
  await clock.advance(199);
  expect(changes()).toBe(0);
  await clock.advance(1);
  expect(changes()).toBe(1);
  await clock.advance(10_000);
  expect(changes()).toBe(1);
});

it("a file that is written again with the same content has not changed, and its next change is found", async () => {
  const { clock, files, changes, since } = await startWatch({});
  files.touched += 1;
  await clock.advance(10_000);
  expect(changes()).toBe(0);
  expect(since()[1]).toBe(1);
  files.content = "second";
  await clock.advance(2_200);
  expect(changes()).toBe(1);
});

it("a change made during a look is found", async () => {
  const { clock, files, changes } = await startWatch({});
  const release = hold(files);
  await clock.advance(2_000);
  files.content = "second";
  release();
  await clock.advance(2_200);
  expect(changes()).toBe(1);
});

it("a content that was read again during a look is no change", async () => {
  const { clock, watch, files, changes } = await startWatch({});
  files.content = "second";
  await clock.advance(2_000);
  const release = hold(files);
  await clock.advance(100);
  watch.follow({ files: new Map([["/0", digestOf(Buffer.from("second"))]]), folders: [] });
  release();
  await clock.advance(10_000);
  expect(changes()).toBe(0);
});

it("a closed watch looks no more", async () => {
  const { clock, watch, since } = await startWatch({});
  watch.close();
  await clock.advance(60_000);
  expect([...since(), clock.pending]).toEqual([0, 0, 0]);
});

it("a stamp changes with the content, the link and the file; a pipe and a missing file have a stamp too", async () => {
  const folder = emptyFolder();
  const [file, other, link] = ["file", "other", "link"].map((name) => join(folder, name)) as [string, string, string];
  const stamps = new Set<string>();
  const steps = [
    () => symlinkSync(file, link),
    () => writeFileSync(file, "one"),
    () => appendFileSync(file, "two"),
    () => utimesSync(file, 0, 0),
    () => writeFileSync(other, "onetwo"),
    () => renameSync(other, file),
    () => execFileSync("mkfifo", [other]),
    () => renameSync(other, file),
  ];
  for (const step of steps) {
    step();
    stamps.add(await stampOf(link));
  }
  expect(stamps.size).toBe(6);
  expect([...stamps][0]).toBe("ENOENT");
});

it("what cannot be read has its error's code as its stamp, and is no new change at each look", async () => {
  const folder = emptyFolder();
  const pathOf = (name: string) => join(folder, name);
  writeFileSync(pathOf("long"), "");
  truncateSync(pathOf("long"), 16_777_217);
  execFileSync("mkfifo", [pathOf("pipe")]);
  const server = createServer().listen(pathOf("socket"));
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const paths = [folder, ...["long", "pipe", "socket", "missing"].map(pathOf)];
  const codes = await Promise.all(paths.map((path) => readRegularFile(path).then(() => "read", codeOf)));
  expect(codes).toEqual(["EISDIR", "EFBIG", "no regular file", "ENXIO", "ENOENT"]);
  expect(await Promise.all(paths.map(stampOf))).toEqual(codes);
  let changes = 0;
  const watch = new FileWatch(systemClock, () => (changes += 1));
  onTestFinished(() => watch.close());
  watch.follow({ files: new Map(paths.map((path, index) => [path, codes[index] ?? ""])), folders: [] });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(changes).toBe(0);
});

/** A watch of one folder; the test makes its events and stamps. */
function watchFolder(count = 1) {
  const clock = new FakeClock();
  const told: string[][] = [];
  const stamps = new Map(Array.from({ length: count }, (_, n) => [`/d/${n}`, "as read"]));
  let onEvent = (_: string | undefined): void => {};
  let [ended, looks] = [0, 0];
  const pause = { untilLooked: Promise.resolve() };
  const watch = new FileWatch(clock, (changed) => void told.push([...changed]), {
    read: () => expect.unreachable(),
    watch(_, given) {
      onEvent = given;
      return () => {
        ended += 1;
      };
    },
    async stamp(path) {
      looks += 1;
      const stamp = stamps.get(path) ?? "ENOENT";
      await pause.untilLooked;
      return stamp;
    },
  });
  const follow = (read = new Map(stamps)) =>
    watch.follow({ files: new Map(), folders: [{ path: "/d/", stamps: read }] });
  follow();
  const event = (name?: string) => onEvent(name);
  return { clock, watch, told, stamps, pause, follow, event, ended: () => ended, looks: () => looks };
}

it("reports all changed files together, once there are no further changes", async () => {
  const { clock, told, event } = watchFolder();
  for (const name of [".S1.yaml.swp", "S1.yaml", "S2.yaml", "S1.yaml"]) {
    event(name);
    await clock.advance(60);
  }
  expect(told).toEqual([]);
  await clock.advance(60);
  expect(told).toEqual([["/d/S1.yaml", "/d/S2.yaml"]]);
});

it("does not wait for changes that never end", async () => {
  const { clock, told, event } = watchFolder();
  for (let n = 0; n < 30; n += 1) {
    event("S1.yaml");
    await clock.advance(50);
  }
  expect(told.length).toBe(1);
});

it("reports changes half a second apart, and a single one after a tenth of it", async () => {
  const { clock, told, event } = watchFolder();
  const times: number[] = [];
  for (let ms = 0; ms < 2_000; ms += 10) {
    if (ms % 150 === 0) event("S1.yaml");
    await clock.advance(10);
    if (told.length > times.length) times.push(ms + 10);
  }
  expect(times).toEqual([100, 600, 1_150, 1_650]);
});

it.each([["..data"], [undefined]])("reports the whole folder if %s has changed", async (name) => {
  const { clock, told, event } = watchFolder();
  event(name);
  await clock.advance(100);
  expect(told).toEqual([["/d/"]]);
});

it("finds a change without an event by its stamp, within a minute among 20,000 files, and looks at no more than 400 in a second", async () => {
  const { clock, told, stamps, looks } = watchFolder(20_000);
  await clock.advance(2_000);
  const before = looks();
  await clock.advance(1_000);
  expect(looks() - before).toBeLessThan(400);
  stamps.set("/d/0", "changed");
  await clock.advance(65_000);
  expect(told[0]).toEqual(["/d/0"]);
});

it("looks at no file, reports nothing, and has no timer, once it is closed", async () => {
  const { clock, watch, told, event, ended, looks } = watchFolder();
  event("S1.yaml");
  watch.close();
  await clock.advance(10_000);
  expect([ended(), looks(), clock.pending, told]).toEqual([1, 0, 0, []]);
});

it("a file of a folder that was read again during a look has not changed", async () => {
  const { clock, told, stamps, pause, follow } = watchFolder();
  stamps.set("/d/0", "changed");
  const release = hold(pause);
  await clock.advance(2_000);
  follow();
  release();
  await clock.advance(10_000);
  expect(told).toEqual([]);
});

it("keeps its place in the round, and its pace, when one file was read again", async () => {
  const { clock, follow, looks } = watchFolder(1_000);
  for (let n = 0; n < 30; n += 1) {
    await clock.advance(200);
    follow();
  }
  expect(looks()).toBeGreaterThan(900);
  expect(looks()).toBeLessThan(2_000);
});

it("reports a file that is written, renamed or removed in a real folder, also in one that replaces it", async () => {
  const path = `${join(emptyFolder(), "sites")}/`;
  mkdirSync(path);
  let tell = (_: readonly string[]): void => {};
  const watch = new FileWatch(systemClock, (changed) => tell([...changed]));
  onTestFinished(() => watch.close());
  const follow = () => watch.follow({ files: new Map(), folders: [{ path, stamps: new Map() }] });
  follow();
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
  follow();
  expect(await next(() => writeFileSync(one, "keys"))).toEqual([one]);
});

it("reports a secret that is written, or swapped by a link, beside the folder, and no other file there", async () => {
  const root = emptyFolder();
  const path = `${join(root, "sites")}/`;
  mkdirSync(path);
  for (const name of ["first", "second"]) {
    mkdirSync(join(root, name));
    writeFileSync(join(root, name, "secret"), name);
  }
  symlinkSync("first", join(root, "..data"));
  const [plain, linked, other] = [join(root, "plain"), join(root, "linked"), join(root, "other")];
  symlinkSync("..data/secret", linked);
  writeFileSync(plain, "plain");
  let tell = (_: readonly string[]): void => {};
  const watch = new FileWatch(systemClock, (changed) => tell([...changed].toSorted()));
  onTestFinished(() => watch.close());
  const stamps = await Promise.all([plain, linked].map(async (each) => [each, await stampOf(each)] as const));
  watch.follow({ files: new Map(), folders: [{ path, stamps: new Map(stamps) }] });
  const next = (change: () => void) =>
    new Promise<readonly string[]>((resolve) => {
      tell = resolve;
      change();
    });
  // Both within the time for which a change must be stable: only the secret is reported.
  const written = await next(() => {
    writeFileSync(other, "a log");
    writeFileSync(plain, "another");
  });
  expect(written).toEqual([plain]);
  const swapped = await next(() => {
    symlinkSync("second", join(root, "..data_new"));
    renameSync(join(root, "..data_new"), join(root, "..data"));
  });
  expect(swapped).toEqual([linked, plain]);
});

it("watches a thousand folders of secrets at most", () => {
  const watched: string[] = [];
  const system = {
    read: () => expect.unreachable(),
    stamp: async () => "as read",
    watch(folder: string) {
      watched.push(folder);
      return () => {};
    },
  };
  const watch = new FileWatch(new FakeClock(), () => {}, system);
  const stamps = Array.from({ length: 1_500 }, (_, n) => [`/secrets/${n}/client-secret`, "as read"] as const);
  watch.follow({
    files: new Map(),
    folders: [{ path: "/d/", stamps: new Map([["/d/S1.yaml", "as read"], ...stamps]) }],
  });
  expect(watched.length).toBe(1 + 1_000);
  expect(watched.slice(0, 2)).toEqual(["/d/", "/secrets/0/"]);
});

/** Lets looks wait until the returned function is called. */
function hold(looks: { untilLooked: Promise<void> }): () => void {
  let release = () => {};
  looks.untilLooked = new Promise((resolve) => {
    release = resolve;
  });
  return () => release();
}

/** A watch that has already compared the content once. */
async function startWatch({ files = new FakeFiles(), count = 1, readAs = "first" }) {
  const clock = new FakeClock();
  let changes = 0;
  const watch = new FileWatch(clock, () => (changes += 1), files);
  const digest = digestOf(Buffer.from(readAs));
  watch.follow({ files: new Map(Array.from({ length: count }, (_, n) => [`/${n}`, digest])), folders: [] });
  await clock.advance(400);
  const counts = { looks: files.looks, reads: files.reads };
  return {
    clock,
    watch,
    files,
    changes: () => changes,
    since: () => [files.looks - counts.looks, files.reads - counts.reads],
  };
}
