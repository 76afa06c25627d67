/** While it serves, the process writes JSON lines only; warnings of Node's become lines without their text. */
import { expect, it } from "vitest";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { startPod } from "../reload/pod.ts";

const secret = "canary-in-a-warning";
/** Warns in three ways: by hand, by deprecation, and by a leak that Node finds. */
const warns = `import { EventEmitter } from "node:events";
process.on("SIGUSR2", () => {
  process.emitWarning("text with ${secret}\\n    at ${secret}", { type: "OwnWarning", code: "OWN01", detail: "${secret}" });
  process.emitWarning("${secret}", "not a name: ${secret}");
  process.emitWarning("old ${secret}", "DeprecationWarning", "DEP9999");
  const emitter = new EventEmitter();
  for (let n = 0; n < 11; n++) emitter.on("${secret}", () => {});
});`;

it("logs each warning as a line of JSON, without the warning's text", async () => {
  const preload = new ConfigFolder().write("warns.mjs", warns);
  const { program } = await startPod({ serve: { options: ["--import", preload] } });
  program.child.kill("SIGUSR2");
  await program.line((line) => line.includes("MaxListenersExceededWarning"));
  expect(await program.stop()).toBe(0);
  expect(program.stderr()).toBe("");
  for (const line of program.stdout().split("\n").slice(0, -1)) JSON.parse(line);
  const warned = program.events("process_warned");
  expect(warned.map(({ level, warning }) => [level, warning.split(" at ")[0]])).toEqual([
    ["warn", "OwnWarning OWN01"],
    ["warn", "Warning"],
    ["warn", "DeprecationWarning DEP9999"],
    ["warn", "MaxListenersExceededWarning"],
  ]);
  expect(program.stdout()).not.toContain(secret);
});
