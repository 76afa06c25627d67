/** llhttp reads accepted mutated answers in the same way; answers that only llhttp accepts have a known reason. */
import { Agent, type ClientRequest, request } from "node:http";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { ResponseReader } from "../../src/adapters/http-client/response-reader.ts";
import { MalformedResponse } from "../../src/adapters/http-client/transport-error.ts";
import { drawSeed, pickBy, seededRandom } from "../../testkit/seeded-random.ts";
import { mutate } from "./corpus/mutations.ts";

const isTaken = (reading: Reading | undefined) => reading !== "refused" && reading !== "cut";

const describeAnswer = (...parts: unknown[]): Reading => JSON.stringify(parts);

/** A connection whose bytes the test pushes. */
class PushedSocket extends Duplex {
  override _read(): void {}
  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }
}

class OneConnection extends Agent {
  readonly socket = new PushedSocket();

  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }
  override createConnection(): Duplex {
    return this.socket;
  }
  override keepSocketAlive(): boolean {
    return true;
  }
  override reuseSocket(): void {}
}

const sound = [
  "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  "HTTP/1.1 201 Created\r\nX-A:  b \r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 204 No Content\r\n\r\n",
  'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 9\r\n\r\n',
  "HTTP/1.1 503 Busy\r\nConnection: keep-alive\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\n\r\n{}",
];
/** Answers after which no request is sent on the connection. */
const last = [
  "HTTP/1.1 200 OK\r\n\r\nabc",
  "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
  "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
];
const pieces = [
  "HTTP/1.1 200 OK\r\n",
  "HTTP/1.1 204 No\r\n\r\n",
  "101",
  "204",
  "304",
  "199",
  "Connection: close\r\n",
  "Upgrade: h2c\r\n",
];

/** Answers that Node accepts, or waits for more of, and that this reader refuses on purpose. */
const stricter: readonly (readonly [why: string, pattern: RegExp])[] = [
  ["a control character in a reason phrase", /^HTTP\/1\.[01] \d{3} [^\r\n]*(?:[^\t\r\n\x20-\x7e\x80-\xff]|\r[^\n])/m],
  ["an extension of a chunk without a name, or with a value that is none", /\r\n[\da-f]+;/i],
  ["a trailer that frames (RFC 9110 section 6.5.1)", /\r\n0+\r\n[\s\S]*^(?:content-length|transfer-encoding):/im],
  ["a status below 100", /^HTTP\/1\.[01] 0/m],
];

/** Answers that Node refuses, and that this reader accepts on purpose. */
const wider: readonly (readonly [why: string, pattern: RegExp])[] = [
  [
    "a tab behind what frames, a blank like any other (RFC 9110 section 5.6.3)",
    /^(?:content-length|transfer-encoding):.*\t\r$/im,
  ],
  [
    "an interim answer of HTTP/1.0, or with `Connection: close`, which Node takes for the end",
    /^HTTP\/1\.(?:0 1|1 1\d\d[\s\S]*?^Connection: close\r$)/m,
  ],
  ["an empty Transfer-Encoding: it names no coding, and Node.js 26 refuses it", /^transfer-encoding:[ \t]*\r$/im],
];
const isAmong = (reasons: typeof stricter, text: string) => reasons.some(([, pattern]) => pattern.test(text));

it("accepts no answer that Node's parser refuses without a known reason, and reads the same answers on every connection", async () => {
  const random = seededRandom(drawSeed("mutated answers", 1));
  const count = { alike: 0, taken: 0, behindTheFirst: 0, later: 0, stricter: 0, wider: 0 };
  const unexplained: unknown[] = [];
  for (let batch = 0; batch < 40; batch++) {
    const all = Array.from({ length: 100 }, () => readHere(Buffer.from(connectionOf(random), "latin1")));
    const byNode = await Promise.all(all.map(readByNode));
    for (const [connection, answers] of all.entries()) {
      for (const [index, { bytes, reading }] of answers.entries()) {
        const node = byNode[connection]?.[index];
        const text = bytes.toString("latin1");
        if (reading === node) {
          count.alike += 1;
          if (isTaken(reading)) count[index === 0 ? "taken" : "behindTheFirst"] += 1;
          continue;
        }
        // This reader judges complete lines; Node judges each byte.
        if (reading === "cut" && node === "refused") count.later += 1;
        else if (reading === "refused" && isAmong(stricter, text)) count.stricter += 1;
        else if (isTaken(reading) && isAmong(wider, text)) count.wider += 1;
        else unexplained.push({ index, text, reading, node });
        // The next bytes do not answer the same request in both readers.
        break;
      }
    }
  }
  expect(unexplained).toEqual([]);
  expect(count.taken).toBeGreaterThan(2_000);
  expect(count.behindTheFirst).toBeGreaterThan(2_000);
}, 60_000);

/** One answer, if complete, as one text; otherwise `refused` or `cut`. */
type Reading = string;

/** The bytes of one answer, as far as this reader counts them to it. */
interface Read {
  readonly bytes: Buffer;
  readonly reading: Reading;
}

/** Reads byte by byte, which shows the end of each answer. The next bytes are the next answer, if the connection is kept. */
function readHere(all: Buffer): Read[] {
  const reader = new ResponseReader();
  const answers: Read[] = [];
  for (let start = 0; start < all.length; ) {
    reader.begin();
    let end = start;
    let body = "";
    const read = (reading: Reading) => answers.push({ bytes: all.subarray(start, end), reading });
    const whole = () => describeAnswer(reader.status, reader.headers, body);
    try {
      while (reader.phase !== "complete" && end < all.length) {
        end += 1;
        body += reader.read(Buffer.from(all.subarray(end - 1, end)), 1)?.toString("latin1") ?? "";
      }
    } catch (error) {
      if (!(error instanceof MalformedResponse)) throw error;
      end = all.length;
      read("refused");
      return answers;
    }
    if (reader.phase !== "complete") {
      read(reader.finish() ? whole() : "cut");
      return answers;
    }
    read(whole());
    if (reader.idleMs === 0) return answers;
    start = end;
  }
  return answers;
}

async function turns(count: number) {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/** The same bytes: each answer's after its own request, and the end of the connection after the last answer. */
async function readByNode(answers: readonly Read[]): Promise<Reading[]> {
  const agent = new OneConnection();
  const { socket } = agent;
  socket.on("error", () => {});
  const readings: Reading[] = [];
  for (const [index, { bytes }] of answers.entries()) {
    const sent = request({ agent, method: "POST", path: "/", host: "a" });
    sent.maxHeadersCount = 0;
    const reading = readingOf(sent);
    sent.end();
    await turns(2);
    // A connection that Node has closed is not used again.
    if ((sent.socket as Duplex | null) !== socket) reading.settle("another connection");
    socket.push(bytes);
    await turns(2);
    if (index === answers.length - 1) {
      socket.push(null);
      await turns(3);
    }
    readings.push(reading.settle("cut"));
  }
  socket.destroy();
  return readings;
}

function readingOf(sent: ClientRequest): { settle(reading: Reading): Reading } {
  let first: Reading | undefined;
  const settle = (reading: Reading) => {
    first ??= reading;
    return first;
  };
  const fail = ({ code = "" }: NodeJS.ErrnoException) => settle(code.startsWith("HPE_") ? "refused" : "cut");
  sent.on("error", fail).on("upgrade", (_response, socket) => {
    settle("refused");
    socket.destroy();
  });
  sent.on("response", (response) => {
    const pieces: Buffer[] = [];
    response.on("data", (piece) => pieces.push(piece)).on("error", fail);
    response.on("end", () => {
      settle(describeAnswer(response.statusCode, response.rawHeaders, Buffer.concat(pieces).toString("latin1")));
    });
  });
  return { settle };
}

/** Two to four answers of one connection; about half of them are changed somewhere. */
function connectionOf(random: () => number): string {
  const pick = pickBy(random);
  const answers = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(sound));
  answers.push(pick(random() < 0.5 ? sound : last));
  return answers.map((answer) => (random() < 0.4 ? mutate(answer, pieces, random) : answer)).join("");
}
