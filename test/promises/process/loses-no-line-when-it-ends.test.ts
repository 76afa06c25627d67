/** Access lines are written in batches. However the process ends, the lines of all served requests are written, in order. */
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { writeServed } from "../../load/served.ts";

/** A defect on demand. */
const breaks = encodeURIComponent('process.on("SIGUSR2", () => { throw new Error("on demand"); });');

const served = Array(5).fill("request_finished");

it.each<[string, NodeJS.Signals, afterMs: number, how: number | string, last: readonly string[]]>([
  ["all lines when it is stopped right after an answer", "SIGTERM", 0, 0, ["draining", "stopped"]],
  ["all lines when a defect ends it right after an answer", "SIGUSR2", 0, 70, ["defect"]],
  ["all lines older than 50 ms when it is killed", "SIGKILL", 500, "SIGKILL", []],
])("writes %s", async (_, signal, afterMs, how, last) => {
  const upstream = await startRawUpstream({ answer: rawAnswer(200, '{"order_id":"order_1"}') });
  const port = await freePort();
  const file = writeServed(upstream.url, `127.0.0.1:${port}`, "");
  const program = await startServe(file, { options: ["--import", `data:text/javascript,${breaks}`] });
  for (let n = 0; n < 5; n++) expect((await call(`http://127.0.0.1:${port}`)).status).toBe(200);
  await wait(afterMs);
  expect(await program.stop(signal)).toBe(how);
  const lines = program.stdout().split("\n").slice(0, -1);
  const events = lines.map((line) => JSON.parse(line).event);
  expect(events.slice(events.indexOf("started") + 1)).toEqual([...served, ...last]);
});
