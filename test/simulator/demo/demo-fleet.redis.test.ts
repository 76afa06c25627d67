import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { type FleetRun, startFleetDemo } from "./fleet-run.ts";

// `npm run demo:fleet` for real: Redis, four replicas and a fifth, killed and started as the story wants it. It tells the
// truth by its exit code, and leaves nothing behind, however it ends.

const longMs = 240_000;

/** What `npm run demo:fleet` writes beside its Redis. */
function fleetFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("countersign-fleet-"));
}

/** The chapters' lines, without times and process numbers. */
function linesOf(text: string, pattern: RegExp): string[] {
  return text.split("\n").filter((line) => pattern.test(line));
}

function folderOf(text: string): string {
  const [, socket = ""] = /^ {3}Redis .* unix:(\S+)$/m.exec(text) ?? [];
  return dirname(socket);
}

/** A machine that is so busy that Redis's answers come too late costs tokens, rightly: then, and only then, once more. */
async function playWhileRedisAnswers(): Promise<FleetRun> {
  for (let tries = 1; ; tries++) {
    const demo = startFleetDemo(["--once", "--token-lifetime", "15"]);
    const code = await demo.ended;
    if (code === 0 || tries === 3 || !demo.stdout().includes("Redis did not answer a replica in time")) return demo;
  }
}

it("keeps every promise, says why each token was issued, and leaves nothing behind", { timeout: longMs }, async () => {
  const foldersBefore = fleetFolders();
  const demo = await playWhileRedisAnswers();
  const code = await demo.ended;
  const text = demo.stdout();
  expect(demo.stderr()).toBe("");
  expect({ code, broken: linesOf(text, /NOT KEPT|Broken|^ {3}(chapter|in all)/) }).toEqual({ code: 0, broken: [] });
  expect(linesOf(text, /^\d {2}\S/)).toEqual([
    "1  Four replicas start at the same moment",
    "2  Load: 100 requests a second over all four, for 5 s",
    "3  The token becomes due",
    "4  All tokens are revoked",
    "5  Redis is killed under load",
    "6  Redis is back, empty",
    "7  The lock holder is killed in the middle of a refresh",
    "8  In all",
  ]);
  const issued = linesOf(text, /^ {3}tokens issued/).map((line) => line.trim().split(/ +/).slice(2, 4).map(Number));
  expect(issued).toEqual([[1, 1], [0, 1], [1, 2], [1, 3], [4, 7], [1, 8], [2, 10], [10]]);
  const failed = linesOf(text, /^ {3}failed/).map((line) => line.trim().split(/ +/)[1]);
  expect(failed).toEqual(Array(8).fill("0"));
  // Nine tokens came to replicas that said why, four of them while Redis was away; the tenth was lost with the lock holder.
  const asked = linesOf(text, /^ +[\d.]+ s {2}[a-e] asked for a token/).map((line) =>
    line.replace(/ \(.*/, "").slice(14),
  );
  expect(asked.filter((each) => each === "asked for a token without a lock, issued; why: due")).toHaveLength(4);
  expect(asked.filter((each) => each.startsWith("asked for a token, issued; why: "))).toHaveLength(5);
  expect(text).toMatch(/^ {6}lost +1 {4}its replica was killed before it arrived$/m);
  expect(text).toMatch(/^ {3}All 44 promises were kept\.\n$/m);
  // Redis twice, four replicas and a fifth.
  expect(demo.seen.size).toBeGreaterThanOrEqual(7);
  expect(demo.left()).toEqual([]);
  expect(folderOf(text)).toMatch(/countersign-redis-/);
  expect(fleetFolders()).toEqual(foldersBefore);
  expect(existsSync(folderOf(text))).toBe(false);
  expect(text.includes("\u001b") || text.includes("\r")).toBe(false);
  expect(text).not.toMatch(/token_\d|canary/);
  expect(linesOf(text, /.{81}/)).toEqual([]);
});

it("exits with 1 and says what was broken when a replica dies, and leaves nothing behind", {
  timeout: longMs,
}, async () => {
  const demo = startFleetDemo(["--token-lifetime", "12"]);
  const line = await demo.line((text) => / s {2}c is process \d+/.test(text));
  await demo.line((text) => text.includes("the load begins"));
  process.kill(Number(/process (\d+)/.exec(line)?.[1]), "SIGKILL");
  expect(await demo.ended).toBe(1);
  expect(demo.stdout()).toMatch(/^ {3}Broken promises: \d+$/m);
  expect(demo.stdout()).toContain("   chapter 2: replica c ended by itself (SIGKILL)\n");
  expect(demo.stdout()).not.toMatch(/^3 /m);
  expect(demo.left()).toEqual([]);
  expect(existsSync(folderOf(demo.stdout()))).toBe(false);
});

it.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "ends everything that it started when it is asked to end: %s",
  { timeout: longMs },
  async (signal) => {
    const demo = startFleetDemo([]);
    await demo.line((text) => text.includes("the load begins"));
    demo.child.kill(signal);
    expect(await demo.ended).toBe(1);
    expect(demo.stdout()).toContain(`Ended by ${signal} before its end, so nothing is proved.`);
    expect(demo.stdout()).not.toContain("failed:");
    expect(demo.seen.size).toBeGreaterThanOrEqual(5);
    expect(demo.left()).toEqual([]);
    expect(existsSync(folderOf(demo.stdout()))).toBe(false);
  },
);

it("says what to type where there is no redis-server", { timeout: longMs }, async () => {
  const demo = startFleetDemo([], { PATH: dirname(process.execPath).concat("/nothing-here") });
  expect(await demo.ended).toBe(1);
  expect(demo.stdout()).toBe("");
  expect(demo.stderr()).toMatch(
    /^This demo needs redis-server, which is not installed\. Type:\n\n {3}\S.*redis.*\n\n$/,
  );
  expect(demo.left()).toEqual([]);
});

it.each([
  { args: ["--seconds", "x"], sentence: "--seconds wants a whole number from 0 to 3600." },
  { args: ["--token-lifetime", "9"], sentence: "--token-lifetime wants a whole number from 10 to 60." },
  { args: ["--bogus"], sentence: "Unknown option '--bogus'." },
])("refuses $args", { timeout: longMs }, async ({ args, sentence }) => {
  const demo = startFleetDemo(args);
  expect(await demo.ended).toBe(2);
  expect(demo.stderr().split("\n")[0]).toBe(sentence);
});
