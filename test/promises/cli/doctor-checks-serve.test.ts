import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { diagnose } from "./doctor-run.ts";
import { environmentOf, openFolder, startService } from "./doctor-setup.ts";

// What the doctor reports about the server at the admin address.

it("warns of a serve that runs with another configuration", async () => {
  const { write, folder, adminPort } = await openFolder();
  const file = write({ environments: { sandbox: environmentOf(await startService()) } });
  await startServe(folder.write("active.yaml", `${readFileSync(file, "utf8")}log: { level: warn }\n`));
  const { hasFailed, of } = await diagnose(file, { withToken: false });
  expect(hasFailed).toBe(false);
  const { text } = await call(`http://127.0.0.1:${adminPort}`, "", { method: "GET", path: "/metrics" });
  const [, active = ""] = /^countersign_config_info\{hash="(\w{12})"\} 1$/m.exec(text) ?? [];
  const detail = `runs with another active configuration (${active}) than this file is (`;
  expect(of("serve")).toEqual([expect.stringContaining(`warn admin 127.0.0.1:${adminPort}: ${detail}`)]);
  expect(of("serve")[0]).toMatch(/\((\w{12})\) than this file is \((?!\1)\w{12}\) \| its log .*\(config_refused\)/);
  expect(of("token")).toEqual(["skipped S1/blue: not asked for (--no-token)"]);
});

it.each([
  ["another program", rawAnswer(200, "ok"), /^fail .* is not Countersign \|/],
  ["a program that hangs", "", /^fail .*: no answer \(ETIMEDOUT\) \|/],
  ["a port without a listener", undefined, /^skipped .*: nothing listens there, so serve does not run here$/],
])("reports %s", async (_, answer, says) => {
  const { write, folder, adminPort } = await openFolder();
  const file = write({ environments: { sandbox: environmentOf(await startService()) } });
  const upstream = await startRawUpstream({ answer: (_, socket) => void (answer && socket.write(answer)) });
  const port = answer === undefined ? adminPort : upstream.port;
  const moved = readFileSync(file, "utf8").replace(`:${adminPort}"`, `:${port}"`);
  const { of } = await diagnose(folder.write("moved.yaml", moved), { withToken: false });
  expect(of("serve")).toEqual([expect.stringMatching(says)]);
});
