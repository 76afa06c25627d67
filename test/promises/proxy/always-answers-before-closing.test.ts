/** Row 12a: whoever is refused gets a whole answer before the close, also while sending: libraries repeat otherwise. */
import { describe, expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { orderText, RawConnection, type RawPost, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { openBehindHeld } from "../../../testkit/server-side.ts";
import { stageConnected, stageProxy } from "../../../testkit/stage.ts";

const coming = 204_800;
const wholeFailure = /\r\n\r\n\{.*\}\n$/s;

const refused: readonly (readonly [number, string, RawPost | string])[] = [
  [400, "target_not_allowed", { target: "//evil" }],
  [400, "query_not_allowed", { target: "/create_order?x" }],
  [400, "malformed_request", { host: [] }],
  [400, "malformed_request", { more: ["Countersign-Site: S1", "Countersign-Site: S2"] }],
  [400, "malformed_request", "BLAH blah\r\n\r\n"],
  [400, "malformed_request", rawPost({ framing: ["Content-Length: 1", "Content-Length: 2"], body: "" })],
  [400, "body_not_json", {}],
  [403, "target_not_allowed", { host: ["Host: evil"] }],
  [403, "operation_not_allowed", { target: "/other" }],
  [405, "method_not_allowed", { method: "PUT" }],
  [405, "method_not_allowed", "CONNECT api:443 HTTP/1.1\r\nHost: api:443\r\n\r\n"],
  [413, "body_too_large", { framing: ["Content-Length: 1000000"] }],
  [415, "media_type_not_supported", { type: [] }],
  [417, "expectation_not_supported", { more: ["Expect: x"] }],
  [431, "headers_too_large", { more: Array.from({ length: 101 }, (_, n) => `X-${n}: 1`) }],
  [431, "headers_too_large", rawPost({ more: [`X: ${"x".repeat(20_000)}`], body: "" })],
];

it.each(refused)("a whole answer comes, with 200 KiB still being sent %i %s for %j", async (status, code, given) => {
  const { connection, clock, url, simulator } = await stageConnected();
  const framing = [`Content-Length: ${coming}`];
  connection.write(typeof given === "string" ? given : rawPost({ framing, body: "", ...given }));
  // As many libraries do: first everything is written, and only then is anything read.
  connection.socket.pause();
  for (let sent = 0; sent < coming; sent += 20_480) {
    await new Promise((resolve) => connection.socket.write("x".repeat(20_480), resolve));
    await new Promise(setImmediate);
  }
  connection.socket.resume();
  await connection.until(wholeFailure);
  clock.push(1_000);
  const [answer, ...more] = readAnswers(await connection.ended());
  expect(more).toEqual([]);
  expect({ status: answer?.status, code: answer?.headers["countersign-error"] }).toEqual({ status, code });
  expect(answer?.headers["connection"]).toBe("close");
  expect(simulator.counts().apiRequests).toBe(0);
  expect((await call(url)).status).toBe(200);
});

it.each([
  ["too many requests", { inFlightPerEnvironment: 0 }],
  ["too many connections", { connections: 2 }],
])("a whole 503 comes with %s", async (_, limits) => {
  const { port } = await stageProxy({ limits });
  await RawConnection.open(port);
  await RawConnection.open(port);
  const connection = await RawConnection.open(port);
  connection.write(rawPost({ body: " ".repeat(coming) }));
  const [answer] = readAnswers(await connection.ended());
  expectFailure(answer ?? expect.unreachable(), { status: 503, code: "overloaded" });
});

it.each([
  ["a tunnel", "CONNECT api:443 HTTP/1.1\r\nHost: api:443\r\n\r\n\x16\x03\x01hello"],
  ["nonsense", "BLAH blah\r\n\r\n"],
  ["too long a head", rawPost({ more: [`X: ${"x".repeat(20_000)}`] })],
  ["a body that does not come", rawPost({ target: "//evil", framing: ["Content-Length: 9"], body: "" })],
  ["a body that is broken", rawPost({ framing: ["Transfer-Encoding: chunked"], body: "zz\r\n" })],
])("a connection whose request was refused does not stay, if its owner keeps it or not %s", async (_, bytes) => {
  const { clock, port, url } = await stageProxy({ limits: { connections: 1 } });
  const connection = await RawConnection.open(port);
  await connection.write(bytes).until(wholeFailure);
  clock.push(1_000);
  await connection.ended();
  clock.push(1_000);
  // It is half open on the caller's side, and yet no longer the one connection that is allowed.
  await expect.poll(async () => (await call(url)).status).toBe(200);
});

describe("what follows on a kept-alive connection", () => {
  it.each([
    ["in the same packet", ""],
    ["while it is being served", "later"],
  ])("cannot disturb the request before it, malformed as it is: %s", async (_, later) => {
    const { port, url, simulator } = await stageProxy();
    const hanging = simulator.faults.add({ host: "api", kind: "hang" });
    const connection = await RawConnection.open(port);
    const first = rawPost({ connection: [] });
    const nonsense = "BLAH blah\r\n\r\n";
    connection.write(later === "" ? first + nonsense : first);
    await hanging.whenPlayed(1);
    if (later !== "") connection.write(nonsense);
    expect((await call(url)).status).toBe(200);
    hanging.release();
    const answers = readAnswers(await connection.ended());
    expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([[200, "close"]]);
    expect(simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
  });

  it("cannot overtake its response: what is refused waits for its turn, and what is malformed comes last", async () => {
    const stage = await stageProxy();
    const { url, simulator, recorder } = stage;
    const { connection, release } = await openBehindHeld(stage, rawPost({ connection: [] }));
    connection.write(rawPost({ connection: [], method: "GET", framing: [], body: "" }));
    connection.write("BLAH blah\r\n\r\n");
    expect((await call(url)).status).toBe(200);
    expect(recorder.of("request_finished").filter(({ status }) => status === 405)).toEqual([]);
    release();
    const answers = readAnswers(await connection.ended());
    expect(answers.map(({ status, headers }) => [status, headers["connection"]])).toEqual([
      [200, "keep-alive"],
      [405, "close"],
    ]);
    expect(simulator.counts()).toMatchObject({ apiRequests: 2, accepted: 2 });
  });

  it("is answered 400 when it is malformed and all is quiet, and the next connection works", async () => {
    const { connection, url } = await stageConnected();
    await connection.write(rawPost({ connection: [] })).until(/"order_1"/);
    const answers = readAnswers(await connection.write("BLAH blah\r\n\r\n").ended());
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
    expectFailure(answers[1] ?? expect.unreachable(), { status: 400, code: "malformed_request" });
    expect((await call(url, orderText)).status).toBe(200);
  });

  it("works after a refusal that came with its whole body", async () => {
    const { connection } = await stageConnected();
    await connection.write(rawPost({ connection: [], body: '{"a":null}' })).until(wholeFailure);
    const answers = readAnswers(await connection.write(rawPost()).ended());
    expect(answers.map(({ status }) => status)).toEqual([422, 200]);
  });
});
