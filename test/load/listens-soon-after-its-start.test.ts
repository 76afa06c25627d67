/** A pod is up when its slowest container is: 300 ms from process start to listening, on a quiet machine, in the image's form. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { percentile } from "../../bench/overload/stretch.ts";
import { bundle } from "../../testkit/bundle.ts";
import { ConfigFolder, edited } from "../../testkit/config-folder.ts";
import { startServe } from "../../testkit/run-program.ts";

const starts = 7;
const listeningWithinMs = 10 * 300;

it("listens soon, and before it has any token", async () => {
  const folder = new ConfigFolder();
  const anyPort = edited(
    ['"127.0.0.1:7411"', `"unix:${join(folder.path, "app.sock")}"`],
    ['":7412"', '"127.0.0.1:0"'],
    ['"127.0.0.1:7413"', '"127.0.0.1:0"'],
    ["https://api.sandbox.example/json-api", "https://api.invalid"],
    ["https://login.sandbox.example", "https://login.invalid"],
  );
  const file = folder.write("countersign.yaml", anyPort.replaceAll("DIR", folder.path));
  const start = async (main: string) => {
    const startedMs = performance.now();
    const program = await startServe(file, { main });
    const tookMs = performance.now() - startedMs;
    await program.stop("SIGKILL");
    return tookMs;
  };
  const bundled = bundle();
  const tookMs: number[] = [];
  const unbundledMs: number[] = [];
  for (let n = 0; n < starts; n++) {
    tookMs.push(await start(bundled));
    unbundledMs.push(await start("dist/unbundled.js"));
  }
  // Other processes can only make a start slower, so the least time counts.
  const ratio = Math.min(...tookMs) / Math.min(...unbundledMs);
  const rounded = (figures: readonly number[]) => figures.map(Math.round).join(", ");
  process.stdout.write(
    `from process start to listening, in ms: ${rounded(tookMs)}; unbundled: ${rounded(unbundledMs)}; ratio ${ratio.toFixed(2)}\n`,
  );
  expect(percentile(tookMs, 0.5)).toBeLessThan(listeningWithinMs);
  expect(ratio).toBeLessThan(1);
});
