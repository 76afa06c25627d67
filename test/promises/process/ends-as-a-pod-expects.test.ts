/** Signals: SIGTERM lets requests end, a second one does not wait, and it works as PID 1 (row 50); none opens an inspector (row 57). */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { isOpen } from "../../../testkit/demo-run.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { plainEnvironment, startProgram, startServe } from "../../../testkit/run-program.ts";
import { hmacSite, startPod } from "../reload/pod.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };

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

it("opens no inspector on SIGUSR1, and continues to serve", async () => {
  const pod = await startPod();
  await pod.program.stop("SIGKILL");
  // An inspector would listen here.
  const inspectorPort = await freePort();
  const options = [`--inspect-port=${inspectorPort}`];
  const { child, stderr } = await startServe(join(pod.config.path, "countersign.yaml"), { options });
  for (let n = 0; n < 10; n += 1) {
    child.kill("SIGUSR1");
    expect((await call(pod.url, order, signed)).status).toBe(200);
    expect(await isOpen(`http://127.0.0.1:${inspectorPort}`)).toBe(false);
  }
  expect(stderr()).toBe("");
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
