/**
 * 64 callers who request large answers and do not read them take 2 MiB each at the most. Endless bodies, in
 * chunks or with a wrong length, take twice the limit each at the most, and end in 413.
 */
import { connect } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { call } from "../../testkit/call.ts";
import { residentBytes } from "../../testkit/process-use.ts";
import { orderText, RawConnection, rawPost, readAnswers } from "../../testkit/raw-caller.ts";
import { print } from "../fleet/redis/load.ts";
import { startServed } from "./served.ts";

const callers = 64;
const isLinux = process.platform === "linux";
const answerBytes = 16 * 1_048_576;
const mostBytesEach = 2 * 1_048_576;

it.runIf(isLinux)("holds 2 MiB for each of 64 stalled readers at the most", async () => {
  const served = await startServed({ answerText: `{"padding":"${"x".repeat(answerBytes)}"}` });
  // Warms up with answers that are read, until code is compiled and the heap has its size.
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
  // When the figure is steady, everything that can be sent has been sent.
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
  // A caller that reads is still served.
  expect((await call(served.url)).text).toHaveLength(answerBytes + 14);
});

const rounds = 5;
const limitBytes = 262_144;
const piece = "x".repeat(65_536);
const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`;
/** The number of pieces that are read and dropped, so that their sender can read its answer. */
const pieces = 1_048_576 / piece.length;

/** Sends endlessly, until the connection is closed. */
async function sendOnAndOn(port: number, framing: string, bytes: string): Promise<number | undefined> {
  const connection = await RawConnection.open(port);
  connection.write(rawPost({ framing: [framing], body: "" }));
  for (let n = 0; n < pieces; n++) connection.write(bytes);
  const answers = readAnswers(await connection.until(/\}\n$/));
  while (!connection.socket.closed) await new Promise((taken) => connection.socket.write(bytes, "latin1", taken));
  return answers[0]?.status;
}

it.runIf(isLinux)("holds 512 KiB for each of 64 endless bodies at the most", async () => {
  const served = await startServed();
  const sendAll = () =>
    Promise.all(Array.from({ length: callers }, () => sendOnAndOn(served.port, "Transfer-Encoding: chunked", chunk)));
  // Warms up until code is compiled and the heap has the size that bodies within the limit need.
  const large = orderText + " ".repeat(limitBytes - orderText.length);
  for (let n = 0; n < rounds; n++) {
    const within = await Promise.all(Array.from({ length: callers }, () => call(served.url, large)));
    expect(new Set(within.map(({ status }) => status))).toEqual(new Set([200]));
  }
  const before = residentBytes(served);
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, residentBytes(served));
  });
  const statuses = await sendAll().finally(() => clearInterval(watching));
  expect(new Set(statuses)).toEqual(new Set([413]));
  const grown = most - before;
  print("memory in MiB", { before: before / 1_048_576, grown: grown / 1_048_576 });
  expect(grown).toBeLessThan(callers * 2 * limitBytes);
  expect(await sendOnAndOn(served.port, "Content-Length: 18014398509481984", piece)).toBe(413);
  expect(served.upstream.requests).toHaveLength(rounds * callers);
  expect((await call(served.url)).status).toBe(200);
});
