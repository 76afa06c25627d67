/** Access lines are written in batches. However the process ends, the lines of all served requests are written, in order. */

import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { writeServed } from "../../load/served.ts";

/** A defect on demand. */
const breaks = `process.on("SIGUSR2", () => { throw new Error("on demand"); });`;

/** The built command, served orders, and the events of its log once it has ended. */
async function startServing() {
  const upstream = await startRawUpstream({ answer: rawAnswer(200, '{"order_id":"order_1"}') });
  const port = await freePort();
  const file = writeServed(upstream.url, `127.0.0.1:${port}`, "");
  const preload = new ConfigFolder().write("breaks.mjs", breaks);
  const program = await startServe(file, { options: ["--import", preload] });
  for (let n = 0; n < 5; n++) expect((await call(`http://127.0.0.1:${port}`)).status).toBe(200);
  const end = async (signal: NodeJS.Signals) => {
    const how = await program.stop(signal);
    const lines = program.stdout().split("\n").slice(0, -1);
    const events = lines.map((line) => JSON.parse(line).event);
    return { how, events: events.slice(events.indexOf("started") + 1) };
  };
  return { end };
}

const served = Array(5).fill("request_finished");

it("writes all lines when it is stopped right after an answer", async () => {
  const { end } = await startServing();
  expect(await end("SIGTERM")).toEqual({ how: 0, events: [...served, "draining", "stopped"] });
});

it("writes all lines when a defect ends it right after an answer", async () => {
  const { end } = await startServing();
  expect(await end("SIGUSR2")).toEqual({ how: 70, events: [...served, "defect"] });
});

it("has written all lines older than 50 ms when it is killed", async () => {
  const { end } = await startServing();
  await wait(500);
  expect(await end("SIGKILL")).toEqual({ how: "SIGKILL", events: served });
});
