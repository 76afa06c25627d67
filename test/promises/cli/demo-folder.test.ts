import { existsSync } from "node:fs";
import { appendFile, chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openDemo } from "../../../simulator/src/demo/env.ts";
import { call } from "../../../testkit/call.ts";
import { secrets, startDemo } from "../../../testkit/demo-run.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";

// `countersign demo --folder demo`, which a reader of simulator/practise.md uses. The configuration, secrets and log can be
// seen and edited there; changes are applied as in `serve`; the demo removes no other files.

const anyPorts = { listener: 0, admin: 0, status: 0, api: 0, login: 0 };

it.each([
  { given: "a folder that does not exist yet", prepare: () => join(emptyFolder(), "demo") },
  { given: "an empty folder", prepare: emptyFolder },
  { given: "no folder, so one of its own", prepare: () => undefined },
])(
  "keeps everything in one folder, which only its owner may read, and removes it at the end: $given",
  async ({ prepare }) => {
    const given = prepare();
    if (given !== undefined && existsSync(given)) await chmod(given, 0o755);
    const demo = await openDemo(anyPorts, given);
    onTestFinished(() => demo.close("test"));
    const folder = given ?? dirname(demo.configFile);
    expect(demo.configFile).toBe(join(folder, "countersign.yaml"));
    const mode = async (name: string) => (await stat(join(folder, name))).mode & 0o777;
    expect(await mode("")).toBe(0o700);
    for (const name of ["countersign.yaml", "countersign.log", "blue/client-secret", "K2000000001"]) {
      expect(await mode(name), name).toBe(0o600);
    }
    expect((await readdir(join(folder, "portal"))).toSorted()).toEqual(["moving", "next"]);
    await demo.close("test");
    expect(existsSync(folder)).toBe(false);
  },
);

it("starts nothing in a folder that is not empty, and changes no file in it", async () => {
  const folder = emptyFolder();
  await writeFile(join(folder, "mine"), "mine");
  for (const taken of [folder, join(folder, "mine")]) {
    const demo = startDemo(["--folder", taken, "--once"]);
    expect(await demo.ended).toBe(2);
    expect(demo.stderr()).toBe(`${taken} exists and is not an empty folder; name a new one.\n`);
  }
  const nowhere = startDemo(["--folder", join(folder, "none", "demo"), "--once"]);
  expect(await nowhere.ended).toBe(2);
  expect(nowhere.stderr()).toBe(`${join(folder, "none", "demo")} cannot be made (ENOENT); name another folder.\n`);
  expect(await readFile(join(folder, "mine"), "utf8")).toBe("mine");
});

it("applies a changed configuration, by itself and on SIGHUP, and logs as serve does", async () => {
  const folder = join(emptyFolder(), "demo");
  const demo = startDemo(["--folder", folder]);
  await demo.line((line) => line.includes("Ctrl-C ends it"));
  const [, url = ""] = /^ {3}you call +(\S+)/m.exec(demo.stdout()) ?? [];
  const events = async () => {
    const lines = (await readFile(join(folder, "countersign.log"), "utf8")).trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line));
  };
  const file = join(folder, "countersign.yaml");
  await appendFile(file, "limits: { bodyBytes: 1024 }\n");
  await expect
    .poll(events, { timeout: 15_000 })
    .toContainEqual(expect.objectContaining({ event: "config_applied", trigger: "file_change" }));
  expect((await call(url, "x".repeat(1025))).status).toBe(413);
  demo.child.kill("SIGHUP");
  await demo.line((line) => line.includes("SIGHUP: configuration and secrets are read again"));
  await expect.poll(events, { timeout: 15_000 }).toContainEqual(expect.objectContaining({ event: "config_unchanged" }));
  const log = await readFile(join(folder, "countersign.log"), "utf8");
  for (const secret of secrets) expect(log).not.toMatch(secret);
  expect(await demo.stop()).toBe(0);
  expect(existsSync(folder)).toBe(false);
});
