/**
 * Two signals within a second are one; a later one ends the drain, but each open request gets its status line before; and
 * a signal at any moment of the start ends the process.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { bundle } from "../../../testkit/bundle.ts";
import { call, order } from "../../../testkit/call.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { type Program, plainEnvironment, startProgram, startServe } from "../../../testkit/run-program.ts";
import { writeServed } from "../../load/served.ts";
import { hmacSite, type Pod, startPod } from "../reload/pod.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };
/** A signal is a second one after this time, and not the first one delivered twice. */
const laterMs = 1_100;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it.each([
  ["SIGTERM", "SIGTERM"],
  ["SIGINT", "SIGTERM"],
  ["SIGTERM", "SIGINT"],
] as const)("%s and %s at once are one: five open orders get the service's answer", async (first, second) => {
  const pod = await startPod();
  const { answers, release } = await holdFive(pod);
  pod.program.child.kill(first);
  pod.program.child.kill(second);
  await pod.nth("draining", 1);
  pod.program.child.kill(second);
  release();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(await pod.program.ended).toBe(0);
});

/** A shell that passes a signal on, as npm and other wrappers do. */
const wrapper = '"$@" & child=$!; trap "kill -TERM $child" TERM; while ! wait $child; do :; done';

it("a signal to the process group, which the wrapper passes on as well, is one", async () => {
  const pod = await startPod({
    serve: { wrap: (command, args) => ["setsid", ["bash", "-c", wrapper, "bash", command, ...args]] },
  });
  const signalGroup = (signal: string) => spawnSync("kill", [signal, "--", `-${pod.program.child.pid}`]);
  onTestFinished(() => void signalGroup("-KILL"));
  const { answers, release } = await holdFive(pod);
  signalGroup("-TERM");
  await pod.nth("draining", 1);
  release();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  await pod.nth("stopped", 1);
  expect(await pod.program.ended).toBe(0);
});

it("a later signal ends the drain: each open order is answered, and says what is known of it", async () => {
  const pod = await startPod({ settings: { more: "drain: { min: 30s }" } });
  const { simulator, program, url, port } = pod;
  const { answers } = await holdFive(pod);
  const login = simulator.faults.add({ host: "login", kind: "hang", times: 9 });
  pod.blue.update({ "client-id": "blue-id\n", "client-secret": "another secret of this set\n", audience: "else\n" });
  await pod.nth("config_applied", 1);
  await login.whenPlayed(1);
  const waiting = call(url, order);
  const begun = [rawPost().slice(0, 40), rawPost().slice(0, -3)];
  const connections = await Promise.all(begun.map(async (bytes) => (await RawConnection.open(port)).write(bytes)));
  await pod.metrics();
  program.child.kill("SIGTERM");
  await pod.nth("draining", 1);
  await pause(laterMs);
  const askedMs = performance.now();
  program.child.kill("SIGTERM");
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatchObject({
      status: 504,
      headers: { "countersign-outcome": "unknown", "countersign-error": "upstream_timeout" },
    });
    expect(answer.headers["retry-after"]).toBeUndefined();
  }
  const refusal = { status: 503, headers: { "countersign-outcome": "not_sent", "countersign-error": "draining" } };
  expect(await waiting).toMatchObject(refusal);
  for (const connection of connections) {
    expect(readAnswers(await connection.until(/\}\n$/))).toMatchObject([refusal]);
    connection.socket.end();
  }
  expect(await program.ended).toBe(1);
  expect(performance.now() - askedMs).toBeLessThan(10 * 2_000);
  const causes = program.events("request_finished").map(({ outcome, cause }) => `${outcome} ${cause}`);
  expect(causes.filter((cause) => cause === "unknown shutdown")).toHaveLength(5);
  expect(program.events("stopped")).toMatchObject([{ drained: false }]);
  expect(simulator.counts().apiRequests).toBe(5);
});

it("a later signal cuts an answer that only a close would end by a reset", async () => {
  const begin = `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${"x".repeat(200_000)}`;
  const upstream = await startRawUpstream({ answer: begin });
  const port = await freePort();
  const program = await startServe(writeServed(upstream.url, `127.0.0.1:${port}`, ""));
  const caller = await RawConnection.open(port);
  const errors: string[] = [];
  caller.socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => errors.push(code));
  await caller.write(rawPost()).until(/xxx/);
  program.child.kill("SIGTERM");
  await program.nth("draining", 1);
  await pause(laterMs);
  program.child.kill("SIGTERM");
  await caller.closed;
  expect(errors).toEqual(["ECONNRESET"]);
  expect(await program.ended).toBe(1);
});

function childrenOf(pid: number | undefined): number[] {
  const found = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" });
  return found.stdout.split("\n").map(Number).filter(Boolean);
}

const canUnshare = spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "true"]).status === 0;
const reason = canUnshare ? "" : "NOT TRIED, no PID namespace can be made here: ";
const rounds = 12;

/** Node.js has begun to start: before, for a few milliseconds, the kernel lets nothing take a signal to PID 1. */
async function begun(program: Program): Promise<number> {
  for (;;) {
    const [pid] = childrenOf(program.child.pid);
    const [, caught = "0"] = (pid && /^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))) || [];
    if (pid !== undefined && (BigInt(`0x${caught}`) & 0x4000n) !== 0n) return pid;
  }
}

it.runIf(canUnshare).each([
  ["dist/main.js", () => "dist/main.js"],
  ["the image's program", compiled],
  ["the program without bundles", () => "dist/unbundled.js"],
])(`${reason}SIGTERM at any moment of the start ends PID 1: %s`, { timeout: 120_000 }, async (_, locate) => {
  const main = locate();
  const file = writeServed("https://localhost", "127.0.0.1:0", "");
  for (let round = 0; round < rounds; round += 1) {
    const serve = [process.execPath, main, "serve", "--config", file];
    const program = startProgram("unshare", ["--pid", "--fork", "--kill-child", "--mount-proc", ...serve]);
    const pid = await begun(program);
    onTestFinished(() => void spawnSync("kill", ["-9", String(pid)]));
    await pause((500 * round) / rounds);
    process.kill(pid, "SIGTERM");
    // Its output tells whether the signal came to it.
    const running = pause(60_000).then(() => `still running in round ${round}: ${program.stdout()}`);
    expect([0, 143]).toContain(await Promise.race([program.ended, running]));
  }
});

function compiled(): string {
  const main = bundle();
  execFileSync(process.execPath, ["scripts/code-cache.mjs", dirname(main)], { env: plainEnvironment() });
  return main;
}

/** Five orders that the service has, and does not answer yet. */
async function holdFive({ simulator, url }: Pod) {
  const hang = simulator.faults.add({ host: "api", kind: "hang", times: 5 });
  const answers = Array.from({ length: 5 }, () => call(url, order, signed));
  await hang.whenPlayed(5);
  return { answers, release: hang.release };
}
