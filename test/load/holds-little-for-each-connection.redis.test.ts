/** A connection takes a small multiple of the bytes that its caller has written, charged to the budget. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { defaultBudget } from "../../src/app/process-limits.ts";
import { call } from "../../testkit/call.ts";
import { ConfigFolder, canaries } from "../../testkit/config-folder.ts";
import { freePort } from "../../testkit/free-port.ts";
import { imageOptions } from "../../testkit/image-options.ts";
import { keepAlive } from "../../testkit/keep-alive.ts";
import type { KernelLimits } from "../../testkit/kernel-limits.ts";
import { residentBytes } from "../../testkit/process-use.ts";
import { rawPost } from "../../testkit/raw-caller.ts";
import { granted, rawAnswer, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { startRedis } from "../../testkit/redis.ts";
import { countRound } from "../../testkit/replays.ts";
import { startServe } from "../../testkit/run-program.ts";
import { print } from "../fleet/redis/load.ts";
import { limitMemory } from "./served.ts";

const kept = { connection: [] };
const pending = (more: Parameters<typeof rawPost>[0] = {}) => rawPost({ ...kept, target: "/hold_order", ...more });
const post = "POST /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\n";
const json = "Content-Type: application/json\r\n";
const chunked = `${post}${json}Transfer-Encoding: chunked\r\n\r\n`;
const longLines = `X: ${"x".repeat(150)}\r\n`.repeat(96);
/** The largest head that is accepted. */
const largestHead = `${post}${longLines}`;
const smallest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

const largeAnswerBytes = 1_000_000;
/** Of an answer that is read whole before it is passed on. */
const halfAnswerBytes = 30_000;

/**
 * Every state in which a connection may stay. States whose requests are sent come last: these requests stay in flight until
 * `timeouts.request`, even if their callers have gone.
 */
const heldStates: Readonly<Record<string, Held>> = {
  "a head of as many lines as are accepted": { bytes: largestHead },
  "a head that comes byte by byte": { bytes: `${post}X: ${"x".repeat(300)}`, pieceBytes: 1 },
  "a part of a body": { bytes: rawPost({ framing: ["Content-Length: 100000"], body: "x".repeat(60_000) }) },
  "a head and a part of a body": { bytes: `${largestHead}${json}Content-Length: 9\r\n\r\n{` },
  "a body that comes byte by byte": {
    bytes: rawPost({ framing: ["Content-Length: 10000"], body: "x".repeat(300) }),
    pieceBytes: 1,
  },
  "a body in chunks of one byte": { bytes: `${chunked}${"1\r\nx\r\n".repeat(1_000)}` },
  "trailers that come byte by byte": { bytes: `${chunked}0\r\nX: ${"x".repeat(300)}`, pieceBytes: 1 },
  "a part of a callback": {
    bytes: rawPost({ target: "/", framing: ["Content-Length: 100000"], body: "x".repeat(60_000) }),
    isCallback: true,
  },
  "a head behind an order that is not answered": { bytes: `${pending()}${largestHead}\r\n`, isSent: true },
  "requests behind an order that is not answered": { bytes: `${pending()}${smallest.repeat(2_000)}`, isSent: true },
  "an order with a large head that is not answered": {
    bytes: `${largestHead}${json}Content-Length: 2\r\n\r\n{}`.replace("/create_order", "/hold_order"),
    isSent: true,
  },
  "an order with a key that is not answered": {
    bytes: pending({ more: ["Countersign-Once: key-NUMBER-of-this-order"] }),
    isSent: true,
  },
  "a large answer that is not read": {
    bytes: rawPost({ ...kept, target: "/list_orders" }),
    answerBytes: largeAnswerBytes,
    isSent: true,
  },
  "an answer of which a part has come": {
    bytes: rawPost({ ...kept, target: "/half_order" }),
    answerBytes: halfAnswerBytes,
    isSent: true,
  },
  "a part of an upload": {
    bytes: rawPost({
      method: "PUT",
      target: "/files/a",
      framing: ["Content-Length: 9000000"],
      body: "x".repeat(60_000),
    }),
    isSent: true,
  },
};

/** The memory of any connection: its socket, its timer, and the objects that read and serve it. */
const eachBytes = 16_384;
const perWireByte = 3;

/** On SIGUSR2 the process prints its memory in use, without garbage. */
const printUse = `process.on("SIGUSR2", () => {
  gc();
  setImmediate(() => {
    gc();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write(JSON.stringify({ use: heapUsed + external }) + "\\n");
  });
});`;

it.each(Object.entries(heldStates))(
  "a connection takes at most three bytes for each on the wire, and 16 KiB: %s",
  async (_, held) => {
    const connections = held.answerBytes === undefined ? 256 : 64;
    const service = await startService();
    const { inUse, portOf } = await start(service, "{ inFlightPerEnvironment: 2000, bufferedBytes: 1000000000 }");
    const open = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => hold(portOf(held), held, n)));
    // Warms up until code is compiled and pools have their size.
    for (const socket of await open(8)) socket.destroy();
    const before = await inUse();
    await open(connections);
    const samples: number[] = [];
    while (samples.length < 3 || Math.abs((samples.at(-1) ?? 0) - (samples.at(-2) ?? 0)) > 100_000) {
      await wait(200);
      samples.push(await inUse());
    }
    const grown = ((samples.at(-1) ?? 0) - before) / connections;
    const onWire = Buffer.byteLength(held.bytes) + (held.answerBytes ?? 0);
    // The caller's connection, and the one to the service.
    const fixed = (held.isSent ? 2 : 1) * eachBytes;
    print("bytes of a connection", { grown, onWire, ratio: grown / onWire, beyond: (grown - fixed) / onWire });
    expect(grown).toBeLessThan(fixed + perWireByte * onWire);
  },
);

const memoryBytes = 256 * 1_048_576;
/** As many connections as a listener serves. */
const crowd = 1_024;
const crowdInPieces = 256;
const crowdMs = 6_000;
const goodPerSecond = 40;

it.skipIf(process.platform !== "linux")(
  "runs in 256 MiB with 1,024 connections in each state, and serves half of the others' orders",
  async () => {
    const service = await startService();
    const limit = limitMemory(memoryBytes);
    const limits = `{ bufferedBytes: ${defaultBudget(memoryBytes)} }`;
    const { program, portOf, otherPort } = await start(service, limits, {
      nodeOptions: imageOptions(memoryBytes),
      wrap: limit?.wrap,
    });
    const agent = keepAlive();
    // Requests that are sent fill the places in flight of their environment, but not of others.
    const order = ({ isSent = false }: Pick<Held, "isSent"> = {}) => {
      const port = isSent ? otherPort : portOf({ bytes: "" });
      return call(`http://127.0.0.1:${port}`, undefined, { agent });
    };
    for (let n = 0; n < 200; n++) expect((await order({ isSent: n % 2 === 0 })).status).toBe(200);
    /** @returns the share of others' orders that is served while connections are in the state */
    const play = async (name: string, held: Held): Promise<number> => {
      const count = held.pieceBytes === undefined ? crowd : crowdInPieces;
      let opened = 0;
      const over = new AbortController();
      const ended = once(over.signal, "abort");
      const keepHolding = async (number: number) => {
        for (let round = 0; !over.signal.aborted; round++) {
          const socket = await hold(portOf(held), held, number);
          if (round === 0) opened += 1;
          if (round === 0 && opened === count) setTimeout(() => over.abort(), crowdMs);
          await Promise.race([new Promise((resolve) => socket.once("close", resolve)), ended]);
          socket.resetAndDestroy();
        }
      };
      const holding = Promise.all(Array.from({ length: count }, (_, n) => keepHolding(n)));
      const statuses: (number | string)[] = [];
      const asked: Promise<void>[] = [];
      const note = async () =>
        void statuses.push(
          await order(held).then(
            ({ status, json }) => (status === 200 ? status : `${status} ${json?.code} ${json?.outcome}`),
            (error: Error) => error.message,
          ),
        );
      while (!over.signal.aborted) {
        asked.push(note());
        await wait(1_000 / goodPerSecond);
      }
      await Promise.all([...asked, holding]);
      const served = statuses.filter((status) => status === 200).length;
      print(name, { asked: statuses.length, served, residentMiB: residentBytes(program) / 1_048_576 });
      process.stdout.write(`${JSON.stringify([...new Set(statuses)])}\n`);
      expect([program.child.exitCode, program.child.signalCode], name).toEqual([null, null]);
      return served / statuses.length;
    };
    for (const [name, held] of Object.entries(heldStates)) {
      countRound(false);
      let share = await play(name, held);
      // A machine that stands still for moments serves less.
      if (share < 0.5) {
        countRound(true);
        share = await play(name, held);
      }
      expect(share, name).toBeGreaterThanOrEqual(0.5);
    }
    expect(limit?.kills() ?? 0).toBe(0);
  },
  600_000,
);

/** The state in which a connection stays, and its bytes on the wire. */
interface Held {
  /** The bytes that each connection writes. */
  readonly bytes: string;
  /** If the bytes are written in pieces: the size of a piece; each is read by itself. */
  readonly pieceBytes?: number;
  /** The connection is to the listener for callbacks. */
  readonly isCallback?: boolean;
  /** Its request has been sent to the service, so there is a second connection. */
  readonly isSent?: boolean;
  /** How many bytes the service answers. */
  readonly answerBytes?: number;
}

/** Opens a connection in this state. It ends with the test, and reads nothing of a large answer. */
async function hold(port: number, { bytes, pieceBytes, answerBytes }: Held, number: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  if (answerBytes === undefined) socket.resume();
  onTestFinished(() => void socket.destroy());
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  const text = bytes.replace("NUMBER", String(number));
  if (pieceBytes === undefined) socket.write(text, "latin1");
  else await writeInPieces(socket, text, pieceBytes);
  return socket;
}

/** Waits two turns of the loop after each piece, so that the other side reads them one by one. */
async function writeInPieces(socket: Socket, text: string, pieceBytes: number): Promise<void> {
  const head = text.lastIndexOf("X: ") === -1 ? text.indexOf("\r\n\r\n") + 4 : text.lastIndexOf("X: ");
  socket.write(text.slice(0, head), "latin1");
  for (let at = head; at < text.length && !socket.destroyed; at += pieceBytes) {
    await nextTurn();
    await nextTurn();
    socket.write(text.slice(at, at + pieceBytes), "latin1");
  }
}

/** A service that answers at once, never, half, or with a long answer, by the operation. */
function startService() {
  const large = rawAnswer(200, `{"padding":"${"x".repeat(largeAnswerBytes)}"}`);
  const half = rawAnswer(200, "x".repeat(2 * halfAnswerBytes)).slice(0, -halfAnswerBytes);
  const small = rawAnswer(200, '{"order_id":"order_1"}');
  return startRawUpstream({
    answer: ({ head }, socket) => {
      if (head.includes("/hold_order")) return;
      const isHalf = head.includes("/half_order");
      socket.write(isHalf ? half : head.includes("/list_orders") ? large : small);
    },
  });
}

interface Surroundings {
  readonly nodeOptions?: readonly string[];
  readonly wrap?: KernelLimits["wrap"] | undefined;
}

/** Starts a proxy that signs, has a route, accepts callbacks and remembers keys. */
async function start(service: { readonly url: string }, limits: string, { nodeOptions = [], wrap }: Surroundings = {}) {
  const login = await startRawUpstream({ answer: granted });
  const redis = await startRedis();
  const folder = new ConfigFolder();
  for (const name of ["key", "secret"]) folder.write(name, canaries.key);
  folder.write("other-key", `${canaries.key}-of-another`);
  folder.write("token-key", "07".repeat(32));
  const [port, callbackPort, otherPort] = [await freePort(), await freePort(), await freePort()];
  const file = folder.write(
    "held.yaml",
    `listeners:
  - { bind: "127.0.0.1:${port}", environment: sandbox }
  - { bind: "127.0.0.1:${otherPort}", environment: other }
callbacks:
  - { bind: "127.0.0.1:${callbackPort}", environment: sandbox, application: { url: "${service.url}/taken" } }
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${service.url}
    authUrl: ${login.url}
    allowPlaintext: true
    operations: [create_order, hold_order, half_order, list_orders]
    defaultSite: S1000000003
    passThrough: [ { prefix: /files/, upstreamPrefix: /files/, methods: [PUT], site: S1000000001 } ]
    sites:
      S1000000001: { credentials: [ { name: blue, clientId: an-id, clientSecret: { file: ${folder.path}/secret }, audience: "https://api.example" } ] }
      S1000000003: { keys: [ { identifier: K2000000001, secret: { file: ${folder.path}/key } } ] }
  other:
    baseUrl: ${(await startService()).url}
    allowPlaintext: true
    operations: [create_order]
    sites: { S1000000004: { keys: [ { identifier: K2000000002, secret: { file: ${folder.path}/other-key } } ] } }
tokens: { cache: redis }
redis: { url: "${redis.url}", encryptionKeys: [ { file: ${folder.path}/token-key } ] }
limits: ${limits}
`,
  );
  writeFileSync(`${folder.path}/print-use.cjs`, printUse);
  const options = [...nodeOptions, "--expose-gc", "--require", `${folder.path}/print-use.cjs`];
  const program = await startServe(file, { options, wrap });
  const inUse = async (): Promise<number> => {
    const before = program.stdout().split('{"use":').length;
    program.child.kill("SIGUSR2");
    for (;;) {
      const lines = program.stdout().split('{"use":');
      if (lines.length > before) return Number.parseInt(lines.at(-1) ?? "", 10);
      await wait(5);
    }
  };
  return { program, inUse, otherPort, portOf: ({ isCallback = false }: Held) => (isCallback ? callbackPort : port) };
}
