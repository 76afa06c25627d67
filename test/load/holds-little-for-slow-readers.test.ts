/** Row 48: 64 callers who ask for large answers and do not read them cost 2 MiB each at the most. */
import { connect } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { call } from "../../testkit/call.ts";
import { residentBytes } from "../../testkit/process-use.ts";
import { rawPost } from "../../testkit/raw-caller.ts";
import { print } from "../fleet/redis/load.ts";
import { startServed } from "./served.ts";

const callers = 64;
const answerBytes = 16 * 1_048_576;
const mostBytesEach = 2 * 1_048_576;

it.skipIf(process.platform !== "linux")("holds 2 MiB for each of 64 stalled readers at the most", async () => {
  const served = await startServed({ answerText: `{"padding":"${"x".repeat(answerBytes)}"}` });
  // Until code is compiled and the heap has its size: answers that are read.
  for (let n = 0; n < 8; n++) expect((await call(served.url)).text).toHaveLength(answerBytes + 14);
  const before = residentBytes(served);
  for (let n = 0; n < callers; n++) {
    const socket = connect({ port: served.port, host: "127.0.0.1" });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    // Nobody listens to its data, so nothing is read.
    socket.write(rawPost());
  }
  await served.upstream.whenRequests(8 + callers);
  // What can move has moved when the figure rests.
  const samples: number[] = [];
  await vi.waitFor(
    () => {
      samples.push(residentBytes(served));
      const last = samples.slice(-5);
      if (last.length < 5 || Math.max(...last) - Math.min(...last) > 1_048_576) throw new Error("it still grows");
    },
    { timeout: 60_000, interval: 200 },
  );
  const grown = Math.max(...samples) - before;
  print("memory in MiB", { before: before / 1_048_576, grown: grown / 1_048_576, each: grown / 1_048_576 / callers });
  expect(grown).toBeLessThan(callers * mostBytesEach);
  // And whoever reads is served.
  expect((await call(served.url)).text).toHaveLength(answerBytes + 14);
});
