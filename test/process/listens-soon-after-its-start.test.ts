/** A pod is up when its slowest container is: 300 ms from process start to listening, on a quiet machine. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { ConfigFolder, edited } from "../config/config-folder.ts";
import { plainEnvironment, startProgram } from "../support/run-program.ts";

const starts = 5;
const listeningWithinMs = 10 * 300;

it("listens before anybody waits for it, and before any token is there", async () => {
  const folder = new ConfigFolder();
  const anyPort = edited(
    ['"127.0.0.1:7411"', `"unix:${join(folder.path, "app.sock")}"`],
    ['":7412"', '"127.0.0.1:0"'],
    ['"127.0.0.1:7413"', '"127.0.0.1:0"'],
    ["https://api.sandbox.example/json-api", "https://api.invalid"],
    ["https://login.sandbox.example", "https://login.invalid"],
  );
  const file = folder.write("countersign.yaml", anyPort.replaceAll("DIR", folder.path));
  const tookMs: number[] = [];
  for (let n = 0; n < starts; n++) {
    const startedMs = performance.now();
    const program = startProgram(process.execPath, ["dist/main.js", "serve", "--config", file], plainEnvironment());
    await program.line((line) => line.includes('"event":"started"'));
    tookMs.push(performance.now() - startedMs);
    program.child.kill("SIGKILL");
    await program.ended;
  }
  tookMs.sort((one, other) => one - other);
  process.stdout.write(`from process start to listening, in ms: ${tookMs.map(Math.round).join(", ")}\n`);
  expect(tookMs[Math.floor(starts / 2)]).toBeLessThan(listeningWithinMs);
});
