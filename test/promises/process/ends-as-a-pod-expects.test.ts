/** The end of the process: SIGTERM lets requests end, a second one does not wait, and it works as PID 1 (row 50). */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { hmacSite, startPod } from "../reload/pod.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };

it("ends at once if nothing is under way, like a sidecar that is stopped after its application", async () => {
  const pod = await startPod();
  expect((await call(pod.url, order, signed)).status).toBe(200);
  const askedMs = performance.now();
  expect(await pod.program.stop()).toBe(0);
  expect(performance.now() - askedMs).toBeLessThan(10_000);
  expect(pod.lines("stopped")).toEqual([expect.objectContaining({ drained: true })]);
});

it("answers requests that wait longer than the deadline, and ends within 2 s after it", async () => {
  const pod = await startPod({ settings: { more: "timeouts: { request: 1s }" } });
  const hang = pod.simulator.faults.add({ host: "api", kind: "hang" });
  const answer = call(pod.url, order, signed);
  await hang.whenPlayed(1);
  const askedMs = performance.now();
  pod.program.child.kill("SIGTERM");
  const { status, headers } = await answer;
  expect({ status, outcome: headers["countersign-outcome"] }).toEqual({ status: 504, outcome: "unknown" });
  expect(await pod.program.ended).toBe(0);
  expect(performance.now() - askedMs).toBeLessThan(10 * 3_000);
});

it("ends at once on a second signal", async () => {
  const pod = await startPod();
  const hang = pod.simulator.faults.add({ host: "api", kind: "hang" });
  const cut = call(pod.url, order, signed).then(
    () => "answered",
    () => "cut",
  );
  await hang.whenPlayed(1);
  pod.program.child.kill("SIGTERM");
  await pod.nth("draining", 1);
  expect(await pod.program.stop()).toBe(1);
  expect(await cut).toBe("cut");
});

const canUnshare = spawnSync("unshare", ["--pid", "--fork", "true"]).status === 0;

/** Without a handler of its own, the kernel lets a PID 1 ignore every signal. */
it.runIf(canUnshare)("ends on SIGTERM as PID 1 of its namespace", async () => {
  const pod = await startPod();
  await pod.program.stop("SIGKILL");
  const serve = [process.execPath, "dist/main.js", "serve", "--config", join(pod.config.path, "countersign.yaml")];
  const program = startProgram("unshare", ["--pid", "--fork", "--kill-child", ...serve], plainEnvironment());
  await program.nth("started", 1);
  const children = spawnSync("ps", ["-o", "pid=", "--ppid", String(program.child.pid)], { encoding: "utf8" });
  const pid = Number(children.stdout.trim());
  onTestFinished(() => void spawnSync("kill", ["-9", String(pid)]));
  process.kill(pid, "SIGTERM");
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toContain('"event":"stopped"');
});

it.runIf(!canUnshare)("NOT TRIED: this machine allows no new PID namespace", () => {
  process.stdout.write("NOT TRIED: ending as PID 1, since no PID namespace can be made here\n");
});
