import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { everyFault } from "../../scripts/soak/faults.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";
import { plainEnvironment, startProgram } from "../../testkit/run-program.ts";

// The short form of `npm run soak`: every fault once, a second apart.

const longMs = 400_000;
/** If callers stall for so long, the machine is to blame, not the proxy. */
const stoodStillMs = 500;
const mostTries = 3;
/** The seed of the faults' order. */
const seed = 23;

it("keeps every promise through every fault, each order accounted for, and leaves nothing behind", {
  timeout: longMs,
}, async () => {
  const { code, report, soak } = await playOnQuietMachine();
  expect(report.unexplainedFailures).toEqual([]);
  expect(report.disagreements).toEqual([]);
  expect(report.promises.filter(({ isKept }: { isKept: boolean }) => !isKept)).toEqual([]);
  expect(code).toBe(0);
  expect(report.rounds.map(({ fault }: { fault: string }) => fault).sort()).toEqual(
    everyFault.map(({ name }) => name).sort(),
  );
  expect(report.sent).toBeGreaterThan(1_000);
  expect(report.columns.unknown.arrived).toBeGreaterThan(0);
  const snapshots = report.growths.map((growth: { snapshots: number }) => growth.snapshots);
  expect(Math.max(...snapshots)).toBe(everyFault.length + 1);
  expect(soak.left()).toEqual([]);
});

it("still sums up when it is asked to end, and leaves nothing behind", { timeout: longMs }, async () => {
  const soak = startSoak(["--every", "1s", "--rate", "20", "--only", "all tokens revoked"]);
  await soak.line((line) => / all tokens revoked /.test(line));
  await soak.stop("SIGINT");
  expect(soak.stderr()).toBe("");
  expect(soak.stdout()).toContain("Ended by SIGINT before its time.");
  expect(soak.stdout()).toMatch(/^\d+ orders in 0:\d\d\.\d$/m);
  expect(soak.left()).toEqual([]);
});

it.each([
  { args: ["--every", "999ms"], sentence: "--every wants a time from 1s to 60m, like 2s, 30s or 2m." },
  { args: ["--only", "nonsense"], sentence: "--only fits none of:" },
  { args: ["--bogus"], sentence: "Unknown option '--bogus'." },
])("refuses $args", { timeout: longMs }, async ({ args, sentence }) => {
  const soak = startSoak(args);
  expect(await soak.ended).toBe(2);
  expect(soak.stderr().split("\n")[0]).toBe(sentence);
});

/** Starts the soak as `npm run soak` does, but without the build, which exists already. Its files are in a folder of the test. */
function startSoak(args: readonly string[]) {
  const folder = emptyFolder();
  const soak = startProgram(
    process.execPath,
    ["--import", "tsx", "scripts/soak/main.ts", ...args],
    plainEnvironment({ TMPDIR: folder }),
  );
  /** What the soak has left: processes that name the folder, and files in it. */
  const left = () => {
    const processes = execFileSync("ps", ["-e", "-o", "args="], { encoding: "utf8" }).split("\n");
    // tsx has a cache for compiled code.
    const files = readdirSync(folder).filter((name) => !name.startsWith("tsx-"));
    return [...processes.filter((line) => line.includes(folder)), ...files];
  };
  return { ...soak, left };
}

async function playOnQuietMachine() {
  for (let tries = 1; ; tries++) {
    const args = ["--faults", `${everyFault.length}`, "--every", "1s", "--rate", "100", "--patience", "10", "--json"];
    const soak = startSoak([...args, "--seed", `${seed}`]);
    const code = await soak.ended;
    expect(soak.stderr()).toBe("");
    const report = JSON.parse(soak.stdout());
    process.stdout.write(`${report.promises.map((each: object) => Object.values(each).join(" | ")).join("\n")}\n`);
    if (code === 0 || tries === mostTries || report.driverStoodStillMs < stoodStillMs) return { code, report, soak };
  }
}
