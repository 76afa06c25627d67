/** Changes of files are seen by the kernel's word, and by a poll where it says nothing; an idle watch hardly ever looks. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findFolders, systemFiles, type WatchableFiles } from "../../src/config/files/file-system.ts";
import { digestOf, FileWatch } from "../../src/config/files/watch.ts";
import { systemClock } from "../../src/model/clock.ts";
import { FakeClock } from "../../testkit/fake-clock.ts";

const path = "/etc/countersign/countersign.yaml";

/** One file, on a file system that tells of every change or not, read at once or when the test says so. */
class FakeFiles implements WatchableFiles {
  content = "first";
  reads = 0;
  open = 0;
  isMissing = false;
  readonly #tellsAll: boolean;
  #listeners: ((name: string | undefined) => void)[] = [];
  #untilRead: Promise<void> = Promise.resolve();

  constructor(tellsAll: boolean) {
    this.#tellsAll = tellsAll;
  }

  async readFile(): Promise<Uint8Array> {
    this.reads += 1;
    const bytes = Buffer.from(this.content);
    await this.#untilRead;
    return bytes;
  }

  async readLink(): Promise<undefined> {
    return undefined;
  }

  async watchFolder(folder: string, onEvent: (name: string | undefined) => void) {
    expect(folder).toBe(dirname(path));
    if (this.isMissing) throw new Error("ENOENT");
    this.#listeners.push(onEvent);
    this.open += 1;
    const close = () => {
      this.open -= 1;
      this.#listeners = this.#listeners.filter((each) => each !== onEvent);
    };
    return { tellsAll: this.#tellsAll, close };
  }

  tell(name: string | undefined): void {
    for (const listener of this.#listeners) listener(name);
  }

  /** Reads wait from now on. */
  holdReads(): () => void {
    let release = () => {};
    this.#untilRead = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }
}

/** A watch that has looked once after it began. */
async function startWatch(files: FakeFiles) {
  const clock = new FakeClock();
  let changes = 0;
  const onChange = () => {
    changes += 1;
  };
  const watch = new FileWatch(clock, onChange, files);
  watch.follow(new Map([[path, digestOf(Buffer.from(files.content))]]));
  await clock.advance(2_000);
  return { clock, watch, changes: () => changes };
}

it.each([
  ["twice a minute where the kernel tells of changes", true, 20],
  ["every 2 s where it does not", false, 300],
])("an idle watch looks %s, and holds one watch", async (_, tellsAll, expected) => {
  const files = new FakeFiles(tellsAll);
  const { clock, changes } = await startWatch(files);
  files.reads = 0;
  await clock.advance(600_000);
  expect(files.reads).toBe(expected);
  expect(files.open).toBe(1);
  expect(clock.pending).toBe(1);
  expect(changes()).toBe(0);
});

it.each([true, false])(
  "a change between reading and watching is found soon, the kernel telling of changes: %s",
  async (tellsAll) => {
    const files = new FakeFiles(tellsAll);
    const clock = new FakeClock();
    let changes = 0;
    const watch = new FileWatch(clock, () => (changes += 1), files);
    watch.follow(new Map([[path, digestOf(Buffer.from("before"))]]));
    await clock.advance(400);
    expect(changes).toBe(1);
  },
);

it("a change that the kernel tells of is reported as soon as it is stable", async () => {
  const files = new FakeFiles(true);
  const { clock, changes } = await startWatch(files);
  files.content = "second";
  files.tell("countersign.yaml");
  await clock.advance(199);
  expect(changes()).toBe(0);
  await clock.advance(1);
  expect(changes()).toBe(1);
});

it.each([
  ["30 s where the kernel tells of changes", true, 30_100],
  ["2 s where it does not", false, 2_100],
])("a change of which nothing tells is found within %s", async (_, tellsAll, withinMs) => {
  const files = new FakeFiles(tellsAll);
  const { clock, changes } = await startWatch(files);
  files.content = "second";
  await clock.advance(withinMs);
  expect(changes()).toBe(1);
});

it("what else happens in the folder is no reason to look", async () => {
  const files = new FakeFiles(true);
  const { clock } = await startWatch(files);
  files.reads = 0;
  for (let n = 0; n < 100; n++) {
    files.tell("application.log");
    await clock.advance(100);
  }
  expect(files.reads).toBe(0);
  files.tell(undefined);
  await clock.advance(100);
  expect(files.reads).toBe(1);
});

it("a change during a look is not lost", async () => {
  const files = new FakeFiles(true);
  const { clock, changes } = await startWatch(files);
  const release = files.holdReads();
  files.tell("countersign.yaml");
  await clock.advance(100);
  files.content = "second";
  files.tell("countersign.yaml");
  release();
  await clock.advance(200);
  expect(changes()).toBe(1);
});

it("where a folder cannot be watched, it polls every 2 s until it can be", async () => {
  const files = new FakeFiles(true);
  files.isMissing = true;
  const { clock } = await startWatch(files);
  files.reads = 0;
  await clock.advance(20_000);
  expect(files.reads).toBe(10);
  files.isMissing = false;
  await clock.advance(2_000);
  files.reads = 0;
  await clock.advance(60_000);
  expect(files.reads).toBe(2);
});

it("a closed watch holds nothing and looks no more", async () => {
  const files = new FakeFiles(true);
  const { clock, watch } = await startWatch(files);
  files.reads = 0;
  watch.close();
  await clock.advance(60_000);
  expect([files.reads, files.open, clock.pending]).toEqual([0, 0, 0]);
});

it("every folder counts in which a link on the way to a file stands, with the link's name", async () => {
  const links: Record<string, string> = {
    "/secrets/blue": "..data/blue",
    "/secrets/..data": "..2026",
    "/loop": "/loop",
    "/home/key": "../vault/./key",
  };
  const readLink = async (at: string) => links[at];
  const paths = ["/secrets/blue/client-id", "/secrets/blue/client-secret", "/home/key", "/loop/key"];
  const found = await findFolders(paths, { ...systemFiles, readLink });
  expect(Object.fromEntries([...found].map(([folder, names]) => [folder, [...names].sort()]))).toEqual({
    "/secrets": ["..data", "blue", "secrets"],
    "/secrets/..2026/blue": ["blue", "client-id", "client-secret"],
    "/home": ["home", "key"],
    "/vault": ["key", "vault"],
    "/": ["", "loop"],
  });
});

it("sees each swap of a mount, also when a swap before has changed nothing that counts", {
  timeout: 20_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secret = join(folder, "blue/client-secret");
  const swap = (name: string, before: string | undefined, content: string) => {
    mkdirSync(join(folder, name, "blue"), { recursive: true });
    writeFileSync(join(folder, name, "blue/client-secret"), content);
    symlinkSync(name, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    if (before !== undefined) rmSync(join(folder, before), { recursive: true });
  };
  swap("..1", undefined, "one");
  symlinkSync("..data/blue", join(folder, "blue"));
  let onChange = () => {};
  const watch = new FileWatch(systemClock, () => onChange());
  onTestFinished(() => watch.close());
  watch.follow(new Map([[secret, digestOf(Buffer.from("one"))]]));
  await new Promise((resolve) => setTimeout(resolve, 300));
  swap("..2", "..1", "one");
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (const [name, before, content] of [
    ["..3", "..2", "two"],
    ["..4", "..3", "three"],
  ] as const) {
    const startedMs = performance.now();
    await new Promise<void>((resolve) => {
      onChange = resolve;
      swap(name, before, content);
    });
    expect(performance.now() - startedMs).toBeLessThan(1_500);
  }
});
