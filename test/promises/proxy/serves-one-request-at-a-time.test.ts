/** Requests of a connection are forwarded one by one in order, and little is read ahead. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { ApiRequest } from "../../../simulator/src/service/request-log.ts";
import { call } from "../../../testkit/call.ts";
import { type RawAnswer, RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { letItRead, openBehindHeld, serverSideOf } from "../../../testkit/server-side.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

const kept = { connection: [] };
const connectRequest = "CONNECT api:443 HTTP/1.1\r\nHost: api:443\r\n\r\n";
const numbered = (n: number) => rawPost({ ...kept, body: JSON.stringify({ site_customer_identifier: `c${n}` }) });
const customerOf = ({ body }: ApiRequest) => JSON.parse(String(body)).site_customer_identifier;
const ends = (answers: readonly RawAnswer[]) =>
  answers.map(({ status, headers }) => `${status} ${headers["connection"]}`).join(", ");

it("forwards twelve orders of one connection one by one, in their order, and writes nothing to standard error", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const staged = await stage();
  const { connection, release } = await openBehindHeld(staged, numbered(0));
  for (let n = 1; n < 12; n++) connection.write(numbered(n));
  // Enough time to forward all orders at once, which must not happen.
  for (let n = 0; n < 20; n++) await letItRead(staged);
  expect(staged.simulator.counts().apiRequests).toBe(1);
  release();
  await connection.write(rawPost({ target: "//evil" })).ended();
  const answers = readAnswers(await connection.ended());
  expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 12 }, () => 200), 400]);
  const { apiRequests } = staged.simulator.seen;
  expect(apiRequests.map(customerOf)).toEqual(Array.from({ length: 12 }, (_, n) => `c${n}`));
  expect(warnings).toEqual([]);
});

it("does not forward an order that waits behind an answer that only the close ends", async () => {
  let respond = () => {};
  const upstream = await startRawUpstream({
    answer(_request, socket) {
      respond = () => socket.end("HTTP/1.1 200 OK\r\n\r\n{}");
    },
  });
  const { connection, ...staged } = await stage("connection", { baseUrl: upstream.url });
  const signed = { ...kept, more: [`Countersign-Site: ${hmacSite}`] };
  connection.write(rawPost(signed));
  await upstream.whenRequests(1);
  connection.write(rawPost(signed));
  await letItRead(staged);
  respond();
  const text = await connection.ended();
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n[\s\S]*\{\}$/);
  expect(upstream.requests).toHaveLength(1);
});

it("forwards one of two HTTP/1.0 orders in one packet, though the answer to it cannot be framed in HTTP/1.0", async () => {
  const upstream = await startRawUpstream({
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  });
  const staged = await stage({ baseUrl: upstream.url });
  const more = [`Countersign-Site: ${hmacSite}`];
  const old = rawPost({ version: "HTTP/1.0", connection: ["Connection: keep-alive"], more });
  const connection = await RawConnection.open(staged.port);
  const text = await connection.write(`${old}${old}`).ended();
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n[\s\S]*\{\}$/);
  expect(upstream.requests).toHaveLength(1);
});

it("refuses nonsense that came during an answer, once that answer is whole", async () => {
  let respond = () => {};
  const upstream = await startRawUpstream({
    answer(_request, socket) {
      // Too long to be read ahead: so a part of it is passed on.
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 100004\r\n\r\n${"x".repeat(100_000)}{ `);
      respond = () => socket.write(" }");
    },
  });
  const { connection, ...staged } = await stage("connection", { baseUrl: upstream.url });
  connection.write(rawPost({ ...kept, more: [`Countersign-Site: ${hmacSite}`] }));
  await connection.until(/\{ $/);
  connection.write(`nonsense\r\n\r\n${numbered(1)}`);
  await letItRead(staged);
  respond();
  expect(await connection.ended()).toMatch(/x\{ {2}\}HTTP\/1\.1 400 [\s\S]*"malformed_request".*\}\n$/);
  expect(upstream.requests).toHaveLength(1);
});

describe("behind an order that is not answered yet", () => {
  const malformed = rawPost({ ...kept, framing: ["Transfer-Encoding: chunked"], body: "zz\r\n" });
  const expecting = ["Expect: 100-continue"];
  const expectingAndRefused = rawPost({ ...kept, more: [...expecting, "Countersign-Site: S9"] });

  const upgrade = (protocol: string) =>
    rawPost({ connection: ["Connection: upgrade"], more: [`Upgrade: ${protocol}`] });

  it.each([
    ["a tunnel", connectRequest, "405 close"],
    ["a tunnel and an order", `${connectRequest}${numbered(1)}`, "405 close"],
    ["an order and a tunnel", `${numbered(1)}${connectRequest}`, "200 keep-alive, 405 close"],
    ["a refused order", rawPost({ ...kept, target: "//evil" }), "400 close"],
    ["a refused order and a good one", `${rawPost({ ...kept, target: "//evil" })}${numbered(1)}`, "400 close"],
    ["a malformed body and an order", `${malformed}${numbered(1)}`, "400 close"],
    ["too long a body and an order", `${rawPost({ ...kept, body: " ".repeat(262_145) })}${numbered(1)}`, "413 close"],
    ["an HTTP/1.0 order and another", `${rawPost({ ...kept, version: "HTTP/1.0" })}${numbered(1)}`, "200 close"],
    ["an order that closes and another", `${rawPost()}${numbered(1)}`, "200 close"],
    ["an upgrade to WebSocket and an order", `${upgrade("websocket")}${numbered(1)}`, "200 close"],
    ["an upgrade to h2c and an order", `${upgrade("h2c")}${rawPost()}`, "200 keep-alive, 200 close"],
    ["an unknown expectation and an order", `${rawPost({ ...kept, more: ["Expect: x"] })}${numbered(1)}`, "417 close"],
    ["a refused order and nonsense", `${rawPost({ ...kept, method: "PUT" })}BLAH blah\r\n\r\n`, "405 close"],
    // No 100 Continue is written into the first order's answer.
    [
      "a refused order that expects one and another",
      `${expectingAndRefused}${rawPost({ more: expecting })}`,
      "403 close",
    ],
    ["an empty line and an order", `\r\n${rawPost()}`, "200 close"],
  ])("%s waits for its turn", async (_, tail, expected) => {
    const staged = await stage();
    const { connection, release } = await openBehindHeld(staged, numbered(0));
    connection.write(tail);
    await letItRead(staged);
    expect(await connection.until(/^/)).toBe("");
    release();
    const answers = readAnswers(await connection.ended());
    expect(ends(answers)).toBe(`200 keep-alive, ${expected}`);
    const served = answers.filter(({ status }) => status === 200);
    expect(staged.simulator.counts().apiRequests).toBe(served.length);
    await letItRead(staged);
    const ours = staged.recorder.of("request_finished").slice(1, -1);
    expect(ours.map(({ status }) => status)).toEqual(answers.map(({ status }) => status));
    expect(new Set(ours.map(({ requestId }) => requestId)).size).toBe(answers.length);
  });

  it.each([
    ["nonsense", "BLAH blah\r\n\r\n"],
    ["too long a head", rawPost({ more: [`X: ${"x".repeat(20_000)}`] })],
    ["the h2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["two lengths", rawPost({ framing: ["Content-Length: 1", "Content-Length: 2"] })],
  ])("%s ends the connection after that order's answer", async (_, tail) => {
    const staged = await stage();
    const { connection, release } = await openBehindHeld(staged, numbered(0));
    connection.write(`${tail}${numbered(1)}`);
    await letItRead(staged);
    release();
    expect(ends(readAnswers(await connection.ended()))).toBe("200 close");
    expect(staged.simulator.counts().apiRequests).toBe(1);
  });

  it("a CONNECT does not cut an answer that the caller reads slowly", async () => {
    const staged = await stage();
    const body = "x".repeat(8_000_000);
    const long = staged.simulator.faults.add({ host: "api", kind: "answer", status: 200, executes: true, body });
    const connection = await RawConnection.open(staged.port);
    connection.socket.pause();
    connection.write(numbered(0));
    await long.whenPlayed(1);
    connection.write(connectRequest);
    await letItRead(staged);
    connection.socket.resume();
    const text = await connection.ended();
    expect(text.match(/^HTTP\/1\.1 \d+|(?<=\}|x)HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 405"]);
    expect(text.length).toBeGreaterThan(body.length);
  });
});

it("reads a bounded part of a caller's pipeline ahead, and serves all of it", async () => {
  const many = 3_000;
  const staged = await stage();
  const server = serverSideOf(staged.port);
  const { connection, release } = await openBehindHeld(staged, numbered(0));
  const refused = "GET /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: fills-some-of-the-packet\r\n\r\n";
  connection.write(refused.repeat(many));
  for (let n = 0; n < 5; n++) await letItRead(staged);
  // The request that is served, those that may wait behind it, one more read, and what stays in the socket.
  const { bytesRead } = await server;
  expect(bytesRead).toBeGreaterThan(numbered(0).length);
  expect(bytesRead).toBeLessThanOrEqual(numbered(0).length + 16_384 + 2 * 65_536);
  release();
  connection.write(rawPost());
  const answers = readAnswers(await connection.ended());
  expect(answers).toHaveLength(many + 2);
  expect(answers.slice(1, -1).every(({ status }) => status === 405)).toBe(true);
  expect(answers.at(-1)?.status).toBe(200);
});

it("answers every request that waits when the process is stopped, and closes with the last", async () => {
  const staged = await stage();
  const { connection, release } = await openBehindHeld(staged, numbered(0));
  connection.write(`${numbered(1)}${numbered(2)}`);
  await letItRead(staged);
  const stopped = staged.proxy.stop("SIGTERM");
  release();
  const answers = readAnswers(await connection.ended());
  expect(ends(answers)).toBe("200 keep-alive, 200 keep-alive, 200 close");
  expect(await stopped).toBe(true);
});

it("serves no waiting request of a caller that has left, and frees its places", async () => {
  const staged = await stage({ limits: { inFlightPerEnvironment: 2 } });
  const { connection, release } = await openBehindHeld(staged, numbered(0));
  connection.write(`${numbered(1)}${numbered(2)}`);
  await letItRead(staged);
  await connection.leave();
  await letItRead(staged);
  release();
  const left = ({ callerLeft }: { callerLeft: boolean }) => callerLeft;
  await staged.recorder.nth("request_finished", 1, left);
  await letItRead(staged);
  const outcomes = staged.recorder.of("request_finished").filter(left);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["answered"]);
  expect(staged.simulator.counts().apiRequests).toBe(1);
  const answers = await Promise.all([call(staged.url), call(staged.url)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});
