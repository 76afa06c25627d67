/** llhttp reads accepted mutated requests in the same way; requests that only llhttp accepts have a known reason. */
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { RequestBody } from "../../src/adapters/http-server/read-body.ts";
import { HeadReader } from "../../src/adapters/http-server/request-reader.ts";
import { ProxyError } from "../../src/model/errors.ts";
import { drawSeed, pickBy, seededRandom } from "../../testkit/seeded-random.ts";
import { mutate } from "./corpus/mutations.ts";

const buffer = { reserve: () => {}, onEvicted: () => {} };

const isTaken = (reading: Reading) => reading !== "refused" && reading !== "incomplete";

const describeRequest = (...parts: unknown[]): Reading => JSON.stringify(parts);

const seeds = [
  "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
  "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  "POST http://a:8/b?c HTTP/1.1\r\nHost: a\r\nX-A:  b \r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nX: y\r\n\r\n",
  "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
  "POST /a HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
];
const pieces = [" HTTP/1.1", "GET / HTTP/1.1\r\n", "POST ", "*", "http://", "Host: b\r\n"];

/** Requests that Node accepts, or waits for more of, and that this reader refuses on purpose. */
const stricter: readonly (readonly [why: string, pattern: RegExp])[] = [
  ["a line feed or a carriage return alone, before a request", /^(?:\r\n)*(?:\n|\r[^\n])/],
  ["a request line without a version, which Node reads as HTTP/0.9", /^(?!.* HTTP\/\d\.\d\r\n)|^[A-Z]+ +HTTP\/1/],
  ["a tab or a form feed in a target", /^[^\r\n]*[\t\f]/],
  ["a tunnel to a target that is no authority", /^CONNECT/],
  ["an extension of a chunk without a name, or with a value that is none", /\r\n[\da-f]+;/i],
  ["a coding that does not end with chunked beside an upgrade, which Node reads as no body", /^Upgrade:/im],
  ["a size of a chunk beyond all bounds", /\r\n[\da-f]{14,}/i],
];

/** A tab is a blank like any other (RFC 9110 section 5.6.3), but not for Node. */
const tabBehindFraming = /^(?:content-length|transfer-encoding):.*\t\r$/im;

it("accepts no request that Node's parser refuses, and reads the same requests", async () => {
  const random = seededRandom(drawSeed("mutated requests"));
  const count = { alike: 0, taken: 0, later: 0, stricter: 0 };
  const unexplained: unknown[] = [];
  for (let batch = 0; batch < 40; batch++) {
    const texts = Array.from({ length: 250 }, () => mutateOnceOrTwice(random));
    const here = texts.map((text) => readHere(Buffer.from(text, "latin1")));
    const byNode = await readByNode(here.map(([, bytes]) => bytes));
    for (const [index, text] of texts.entries()) {
      const reading = here[index]?.[0] ?? "";
      const node = byNode[index] ?? "";
      if (reading === node) count.alike += 1;
      // This reader judges complete lines; Node judges each byte.
      else if (reading === "incomplete" && node === "refused") count.later += 1;
      else if (reading === "refused" && stricter.some(([, pattern]) => pattern.test(text))) count.stricter += 1;
      else if (isTaken(reading) && node === "refused" && tabBehindFraming.test(text)) count.alike += 1;
      else unexplained.push({ text, reading, node });
      if (isTaken(reading)) count.taken += 1;
    }
  }
  expect(unexplained).toEqual([]);
  expect(count.taken).toBeGreaterThan(1_000);
  expect(count.alike).toBeGreaterThan(8_000);
  expect(count.later).toBeLessThan(500);
}, 60_000);

/** The first request, if complete, as one text; otherwise `refused` or `incomplete`. */
type Reading = string;

/** @returns the reading, and the bytes that it covers */
function readHere(bytes: Buffer): readonly [Reading, Buffer] {
  try {
    const heads = new HeadReader();
    const head = heads.read(bytes, 0);
    if (head === undefined) return ["incomplete", bytes];
    const body = new RequestBody(head, 1_000_000);
    const end = body.isComplete ? heads.position : body.read(bytes, heads.position);
    if (!body.isComplete) return ["incomplete", bytes];
    const text = Buffer.from(body.collect(buffer) as Uint8Array).toString("latin1");
    return [describeRequest(head.method, head.target, head.version, head.headers, text), bytes.subarray(0, end)];
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    return ["refused", bytes];
  }
}

/** As the former listener, on `node:http`, reads them. */
async function readByNode(all: readonly Buffer[]): Promise<Reading[]> {
  const readings = new Map<Duplex, Reading>();
  const server = createServer({ insecureHTTPParser: false, requireHostHeader: false });
  server.maxHeadersCount = 0;
  const note = (socket: Duplex, reading: Reading) => {
    if (!readings.has(socket)) readings.set(socket, reading);
  };
  const take = (request: IncomingMessage) => {
    const { method, url, httpVersion, rawHeaders, socket } = request;
    const pieces: Buffer[] = [];
    request.on("data", (piece) => pieces.push(piece)).on("error", () => {});
    request.on("end", () => {
      note(socket, describeRequest(method, url, httpVersion, rawHeaders, Buffer.concat(pieces).toString("latin1")));
    });
  };
  server.on("request", take).on("checkContinue", take).on("checkExpectation", take);
  server.on("connect", ({ url, httpVersion, rawHeaders }, socket) => {
    note(socket, describeRequest("CONNECT", url, httpVersion, rawHeaders, ""));
  });
  server.on("clientError", (_error, socket) => note(socket, "refused"));
  const sockets = all.map((bytes) => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    server.emit("connection", socket);
    socket.on("error", () => {}).push(bytes);
    return socket;
  });
  for (let turn = 0; turn < 8; turn++) await new Promise(setImmediate);
  for (const socket of sockets) socket.destroy();
  server.close();
  return sockets.map((socket) => readings.get(socket) ?? "incomplete");
}

function mutateOnceOrTwice(random: () => number): string {
  const text = mutate(pickBy(random)(seeds), pieces, random);
  return random() < 0.5 ? text : mutate(text, pieces, random);
}
