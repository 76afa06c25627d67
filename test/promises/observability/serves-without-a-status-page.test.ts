/** `status` is optional: without it there is no page, and everything else works. A reload adds and removes the page. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { call, get, order } from "../../../testkit/call.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { runCommand, startServe } from "../../../testkit/run-program.ts";
import { writeServed } from "../../load/served.ts";
import { hmacSite, startPod } from "../reload/pod.ts";

const withoutPage = (yaml: string) => yaml.replace(/^status:.*\n/m, "");

it("a file without status serves, and check, doctor and health say nothing of it", async () => {
  const admin = await freePort();
  const file = writeServed("https://localhost", "127.0.0.1:0", "");
  const yaml = withoutPage(readFileSync(file, "utf8")).replace(/^admin:.*$/m, `admin: { bind: "127.0.0.1:${admin}" }`);
  writeFileSync(file, yaml);
  const program = await startServe(file);
  const [started] = program.events("started");
  expect(started).not.toHaveProperty("statusBind");
  expect(started.adminBind).toBe(`127.0.0.1:${admin}`);
  expect((await runCommand(["health", "--config", file])).exitCode).toBe(0);
  const checked = await runCommand(["check", "--config", file]);
  expect(checked).toMatchObject({ exitCode: 0 });
  expect(checked.stdout).not.toContain("status:");
  const { stdout } = await runCommand(["doctor", "--config", file, "--json"]);
  expect(stdout).not.toMatch(/status page|status\.bind/);
  expect((await runCommand(["schema"])).stdout).not.toMatch(/"required":\s*\[[^\]]*"status"/);
  expect(await program.stop()).toBe(0);
});

it("a reload removes the page and opens it again; orders go on", async () => {
  const pod = await startPod();
  expect((await get(pod.statusUrl, "/status")).status).toBe(200);
  await pod.apply(withoutPage(pod.yaml()), 1);
  await expect(get(pod.statusUrl, "/status")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect((await call(pod.url, order, { headers: { "Countersign-Site": hmacSite } })).status).toBe(200);
  const port = await freePort();
  await pod.apply(`${withoutPage(pod.yaml())}status: { bind: "127.0.0.1:${port}" }\n`, 2);
  expect((await get(`http://127.0.0.1:${port}`, "/status")).status).toBe(200);
});
