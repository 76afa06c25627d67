/** Signals: SIGTERM lets requests end, and it works as PID 1; none opens an inspector. */
import { spawnSync } from "node:child_process";
import { expect, it, onTestFinished } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { isOpen } from "../../../testkit/demo-run.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { hmacSite, startPod } from "../reload/pod.ts";

const signed = { headers: { "Countersign-Site": hmacSite } };

it("answers requests that wait longer than the deadline, and ends within 2 s after it", async () => {
  const { program, answer } = await stageWaiting("timeouts: { request: 1s }");
  const askedMs = performance.now();
  program.child.kill("SIGTERM");
  const { status, headers } = await answer;
  expect({ status, outcome: headers["countersign-outcome"] }).toEqual({ status: 504, outcome: "unknown" });
  expect(await program.ended).toBe(0);
  expect(performance.now() - askedMs).toBeLessThan(10 * 3_000);
});

it("opens no inspector on SIGUSR1, and continues to serve", async () => {
  // An inspector would listen here.
  const inspectorPort = await freePort();
  const { url, program } = await startPod({ serve: { options: [`--inspect-port=${inspectorPort}`] } });
  for (let n = 0; n < 10; n += 1) {
    program.child.kill("SIGUSR1");
    expect((await call(url, order, signed)).status).toBe(200);
    expect(await isOpen(`http://127.0.0.1:${inspectorPort}`)).toBe(false);
  }
  expect(program.stderr()).toBe("");
});

const canUnshare = spawnSync("unshare", ["--pid", "--fork", "true"]).status === 0;
const reason = canUnshare ? "" : "NOT TRIED, no PID namespace can be made here: ";

/** Without a handler of its own, the kernel lets a PID 1 ignore every signal. */
it.runIf(canUnshare)(`${reason}ends on SIGTERM as PID 1 of its namespace`, async () => {
  const unshare = ["--pid", "--fork", "--kill-child"];
  const { program } = await startPod({
    serve: { wrap: (command, args) => ["unshare", [...unshare, command, ...args]] },
  });
  const children = spawnSync("ps", ["-o", "pid=", "--ppid", String(program.child.pid)], { encoding: "utf8" });
  const pid = Number(children.stdout.trim());
  onTestFinished(() => void spawnSync("kill", ["-9", String(pid)]));
  process.kill(pid, "SIGTERM");
  expect(await program.ended).toBe(0);
  expect(program.stdout()).toContain('"event":"stopped"');
});

/** A pod, and an order to which the service does not answer. */
async function stageWaiting(more = "") {
  const pod = await startPod({ settings: { more } });
  const hang = pod.simulator.faults.add({ host: "api", kind: "hang" });
  const answer = call(pod.url, order, signed);
  await hang.whenPlayed(1);
  return { ...pod, answer };
}
