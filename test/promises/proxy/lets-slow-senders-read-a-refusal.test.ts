/** Row 12a: who still sends a refused body gets the answer and no reset; nothing of the body is kept or served. */
import { expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { stageConnected } from "../../../testkit/stage.ts";

const answer = /\r\n\r\n\{.*\}\n$/s;
const largeBytes = 4_000_000;
const chunk = `40000\r\n${" ".repeat(0x40000)}\r\n`;
/** Our direction is closed by then, and bytes are still taken in. */
const slowMs = 1_500;
/** Nothing is taken in any more. */
const tooSlowMs = 5_000;

/** A proxy without a place, so that each request is refused by its head; and a large one that begins. */
async function stageRefused() {
  const limits = { inFlightPerEnvironment: 0, bodyBytes: largeBytes };
  const { clock, connection } = await stageConnected({ limits });
  const errors: unknown[] = [];
  connection.socket.on("error", (error) => errors.push(error));
  connection.write(rawPost({ framing: [`Content-Length: ${largeBytes}`], body: "{" }));
  const [refused] = readAnswers(await connection.until(answer));
  expectFailure(refused ?? expect.unreachable(), { status: 503, code: "overloaded" });
  return { clock, connection, errors };
}

it("takes in the rest of a large body that comes seconds after the answer", async () => {
  const { clock, connection, errors } = await stageRefused();
  clock.push(slowMs);
  // A caller that reads to the end need not wait for the close.
  await connection.ended();
  await new Promise((resolve) => connection.socket.write(" ".repeat(largeBytes / 2), resolve));
  clock.push(slowMs);
  connection.write(" ".repeat(largeBytes / 2 - 1));
  connection.socket.end();
  await connection.closed;
  expect(errors).toEqual([]);
});

it("waits for the rest no longer than 5 s", async () => {
  const { clock, connection, errors } = await stageRefused();
  clock.push(tooSlowMs);
  await connection.ended();
  connection.write(" ").write(" ");
  await connection.closed;
  expect(errors.length).toBeLessThanOrEqual(1);
});

it("keeps nothing of a refused body whose rest is still to come", async () => {
  const { connection, adminUrl } = await stageConnected();
  connection.write(rawPost({ framing: ["Transfer-Encoding: chunked"], body: chunk + chunk }));
  const [refused] = readAnswers(await connection.until(answer));
  expectFailure(refused ?? expect.unreachable(), { status: 413, code: "body_too_large" });
  expect((await scrape(adminUrl)).value("countersign_buffered_bytes")).toBe(0);
});

const orders = rawPost({ connection: [] }).repeat(2_000);

it.each([
  ["a known length", [`Content-Length: ${orders.length}`], [orders]],
  [
    "chunks",
    ["Transfer-Encoding: chunked"],
    [`${orders.length.toString(16)}\r\n`, orders.slice(0, -1), `${orders.slice(-1)}\r\n0\r\n\r\n`],
  ],
])("reads no part of a refused body of %s as a request, nor what follows it", async (_, framing, pieces) => {
  const { connection, simulator, recorder } = await stageConnected();
  connection.write(rawPost({ target: "/no_such_operation", connection: [], framing, body: "" }));
  await connection.until(answer);
  for (const piece of pieces) connection.write(piece);
  connection.write(rawPost());
  const answers = readAnswers(await connection.ended());
  expect(answers.map(({ status }) => status)).toEqual([403]);
  connection.socket.end();
  await connection.closed;
  await recorder.nth("request_finished", 1);
  expect(recorder.count("request_finished")).toBe(1);
  expect(simulator.counts().apiRequests).toBe(0);
});
