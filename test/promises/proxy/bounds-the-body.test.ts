/** A body beyond limits.bodyBytes is refused and its rest not read; a body that does not come in time is 408. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { orderText, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { serverSideOf } from "../../../testkit/server-side.ts";
import { stage } from "../../../testkit/stage.ts";

const bodyBytes = 262_144;
const tooLarge = { status: 413, code: "body_too_large", detail: /262144 bytes \(limits\.bodyBytes\)/ } as const;
/** How much the listener reads and drops, so that the sender can read the answer. */
const lingerBytes = 1_048_576;
const oneReadBytes = 65_536;
const padded = (length: number) => orderText + " ".repeat(length - orderText.length);

it("serves a chunked body of exactly the limit, and refuses one byte more", async () => {
  const { url, simulator } = await stage();
  const headers = { "transfer-encoding": "chunked", "content-length": [] };
  expect((await call(url, padded(bodyBytes), { headers })).status).toBe(200);
  expectFailure(await call(url, padded(bodyBytes + 1), { headers }), tooLarge);
  expect(simulator.counts().apiRequests).toBe(1);
});

it("refuses an announced length over the limit without reading a byte of the body", async () => {
  const { port, simulator } = await stage();
  const server = serverSideOf(port);
  const connection = await RawConnection.open(port);
  const head = rawPost({ framing: [`Content-Length: ${bodyBytes + 1}`], body: "" });
  const [answer] = readAnswers(await connection.write(head).until(/\r\n\r\n\{.*\}\n$/s));
  expectFailure(answer ?? expect.unreachable(), tooLarge);
  expect((await server).bytesRead).toBe(head.length);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("stops reading chunks that never end", async () => {
  const { port, url, simulator } = await stage();
  const server = serverSideOf(port);
  const connection = await RawConnection.open(port);
  connection.write(rawPost({ framing: ["Transfer-Encoding: chunked"], body: "" }));
  const chunk = `8000\r\n${" ".repeat(0x8000)}\r\n`;
  let isOpen = true;
  void connection.closed.then(() => {
    isOpen = false;
  });
  while (isOpen) {
    const isTaken = connection.socket.write(chunk);
    const goOn = (resume: () => void) => (isTaken ? setImmediate(resume) : connection.socket.once("drain", resume));
    await Promise.race([new Promise<void>(goOn), connection.closed]);
  }
  const [answer] = readAnswers(await connection.closed);
  expectFailure(answer ?? expect.unreachable(), tooLarge);
  const read = (await server).bytesRead;
  expect(read).toBeGreaterThan(bodyBytes);
  expect(read).toBeLessThanOrEqual(bodyBytes + lingerBytes + 2 * oneReadBytes);
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts().apiRequests).toBe(1);
});

it.each([
  ["a megabyte", 1_048_576],
  ["more than memory holds", Number.MAX_SAFE_INTEGER],
])("refuses one chunk that announces %s", async (_, size) => {
  const { connection, simulator } = await stage("connection");
  connection.write(rawPost({ framing: ["Transfer-Encoding: chunked"], body: `${size.toString(16)}\r\n` }));
  const text = await connection.write(" ".repeat(bodyBytes + 1)).until(/\r\n\r\n\{.*\}\n$/s);
  expectFailure(readAnswers(text)[0] ?? expect.unreachable(), tooLarge);
  expect(simulator.counts().apiRequests).toBe(0);
});

it.each([
  ["as the caller's own deadline", 5_000, ["Countersign-Timeout-Ms: 400"], 400, "0.4"],
  ["as timeouts.request", 5_000, [], 5_000, "5"],
  ["as 15 s, however much time the request has", 60_000, [], 15_000, "15"],
])("gives a slow body as much time %s", async (_, requestMs, more, timeoutMs, said) => {
  const { connection, clock, adminUrl, simulator, recorder } = await stage("connection", { timeouts: { requestMs } });
  connection.write(rawPost({ framing: [`Content-Length: ${orderText.length}`], more, body: "{" }));
  await whenInFlight({ adminUrl }, 1);
  clock.push(timeoutMs);
  const [answer] = readAnswers(await connection.until(/\r\n\r\n\{.*\}\n$/s));
  expectFailure(answer ?? expect.unreachable(), {
    status: 408,
    code: "request_timeout",
    detail: new RegExp(`^The body was not complete after ${said.replace(".", "\\.")} s\\.`),
  });
  // The rest of the body comes too late.
  connection.write(orderText.slice(1));
  await connection.ended();
  connection.socket.end();
  await recorder.nth("request_finished", 1);
  expect(simulator.counts().apiRequests).toBe(0);
});
