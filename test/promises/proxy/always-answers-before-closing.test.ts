/**
 * A refused caller gets a whole answer before the close, also while it sends, since libraries repeat a request otherwise;
 * a refused body gets no 100 Continue, and nothing of it is kept or served.
 */
import { expect, it } from "vitest";
import type { CallerRequest } from "../../../src/serving/messages.ts";
import { call } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { orderText, RawConnection, type RawPost, rawPost, readAnswers, sendRaw } from "../../../testkit/raw-caller.ts";
import { openBehindHeld, serverSideOf } from "../../../testkit/server-side.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stage } from "../../../testkit/stage.ts";
import { openListener, settings } from "./listener-alone.ts";

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
  const { connection, clock, url, simulator } = await stage("connection");
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

const refusedByTheHead = refused.flatMap(([status, code, given]) =>
  typeof given === "string" || code === "body_not_json" ? [] : [[status, given] as const],
);

it.each([...refusedByTheHead, [400, { more: ["Countersign-Timeout-Ms: soon"] }] as const])(
  "a caller that is refused by its head gets no 100 Continue: %i for %j",
  async (status, given) => {
    const { connection, clock, simulator } = await stage("connection");
    const framing = ["Content-Length: 10"];
    connection.write(rawPost({ framing, ...given, more: [...(given.more ?? []), "Expect: 100-continue"], body: "" }));
    await connection.until(wholeFailure);
    // Skips the time in which the proxy waits for a body that will not come.
    clock.push(1_000);
    const answers = readAnswers(await connection.ended());
    expect(answers.map((answer) => [answer.status, answer.headers["connection"]])).toEqual([[status, "close"]]);
    expect(simulator.counts().apiRequests).toBe(0);
  },
);

it.each([
  ["too many requests", { inFlightPerEnvironment: 0 }],
  ["too many connections", { connections: 2 }],
])("a whole 503 comes with %s", async (_, limits) => {
  const { port } = await stage({ limits });
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
])("a connection whose request was refused does not stay open, even if its caller keeps it: %s", async (_, bytes) => {
  const { clock, port, url } = await stage({ limits: { connections: 1 } });
  const connection = await RawConnection.open(port);
  await connection.write(bytes).until(wholeFailure);
  clock.push(1_000);
  await connection.ended();
  clock.push(1_000);
  // The connection is half open on the caller's side, but no longer takes the only place.
  await expect.poll(async () => (await call(url)).status).toBe(200);
});

it("a 100 Continue waits for the answer before it", async () => {
  const { connection, release } = await openBehindHeld(await stage(), rawPost({ connection: [] }));
  const framing = [`Content-Length: ${orderText.length}`];
  connection.write(rawPost({ more: ["Expect: 100-continue"], framing, body: "" }));
  release();
  await connection.until(/100 Continue\r\n\r\n$/);
  const answers = readAnswers(await connection.write(orderText).ended());
  expect(answers.map(({ status }) => status)).toEqual([200, 100, 200]);
});

it.each([
  ["its method", 405, rawPost({ method: "HEAD", framing: [], body: "" })],
  ["a malformed header line", 400, "HEAD / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n"],
  ["a malformed target", 400, "HEAD /a\x7f HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
  ["two lengths", 400, "HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n"],
])(
  "a HEAD is refused without a body, as HEAD demands, for %s; another method's refusal has one",
  async (_, status, bytes) => {
    const { port } = await stage();
    expect(await sendRaw(port, bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*\\r\\n\\r\\n$`));
    const other = await sendRaw(port, bytes.replace("HEAD", "PUT"));
    expect(other).toMatch(/\r\n\r\n\{.*"not_sent".*\}\n$/s);
    expect(other).toContain(status === 405 ? '"method_not_allowed"' : '"malformed_request"');
  },
);

const largeBytes = 4_000_000;
const chunk = `40000\r\n${" ".repeat(0x40000)}\r\n`;
/** After this time our direction is closed, and bytes are still read. */
const slowMs = 1_500;
/** After this time nothing is read any more. */
const tooSlowMs = 5_000;

/** A proxy that allows no request in flight, so that each is refused by its head; and a large request that begins. */
async function stageRefused() {
  const limits = { inFlightPerEnvironment: 0, bodyBytes: largeBytes };
  const { clock, connection } = await stage("connection", { limits });
  const errors: unknown[] = [];
  connection.socket.on("error", (error) => errors.push(error));
  connection.write(rawPost({ framing: [`Content-Length: ${largeBytes}`], body: "{" }));
  const [refused] = readAnswers(await connection.until(wholeFailure));
  expectFailure(refused ?? expect.unreachable(), { status: 503, code: "overloaded" });
  return { clock, connection, errors };
}

it("the rest of a large refused body is read, even seconds after the answer", async () => {
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

it("the rest of a refused body is waited for no longer than 5 s", async () => {
  const { clock, connection, errors } = await stageRefused();
  clock.push(tooSlowMs);
  await connection.ended();
  connection.write(" ").write(" ");
  await connection.closed;
  expect(errors.length).toBeLessThanOrEqual(1);
});

it.each([
  ["in a drain", ({ listener }: Alone) => listener.closeIdle(Number.POSITIVE_INFINITY)],
  ["when another one comes", ({ port }: Alone) => sendRaw(port, rawPost())],
])("a connection is not closed as idle while the rest of a refused body comes: %s", async (_, disturb) => {
  const answer = async (request: CallerRequest) => {
    const headers = ["Content-Length", "2"];
    void request.answer({ status: 404, headers, body: Buffer.from("no"), isLocal: true, isFramed: true }, 0);
  };
  const clock = new ShiftedClock();
  const handler = { handle: answer, refuse: answer };
  const limits = { connections: 1, acceptedConnections: 9 };
  const alone = await openListener({ handler, settings: { ...settings, ...limits, clock } });
  const server = serverSideOf(alone.port);
  const connection = await RawConnection.open(alone.port);
  const socket = await server;
  // It was idle for long before its request came.
  clock.push(5_000);
  const head = rawPost({ framing: [`Content-Length: ${coming}`], body: "" });
  await connection.write(head).until(/no$/);
  await disturb(alone);
  connection.socket.end("x".repeat(coming));
  await connection.closed;
  expect(socket.bytesRead).toBe(head.length + coming);
});

it("nothing of a refused body is kept while its rest still comes", async () => {
  const { connection, adminUrl } = await stage("connection");
  connection.write(rawPost({ framing: ["Transfer-Encoding: chunked"], body: chunk + chunk }));
  const [refused] = readAnswers(await connection.until(wholeFailure));
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
])("no part of a refused body of %s is read as a request, nor the bytes after it", async (_, framing, pieces) => {
  const { connection, simulator, recorder } = await stage("connection");
  connection.write(rawPost({ target: "/no_such_operation", connection: [], framing, body: "" }));
  await connection.until(wholeFailure);
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

type Alone = Awaited<ReturnType<typeof openListener>>;
