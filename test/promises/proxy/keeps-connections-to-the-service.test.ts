/**
 * Which connection a request to the service uses, how long connections are kept, and how a pool of them ends. A kept connection
 * that the service has closed fails no request, and sends no request twice.
 */
import { constants } from "node:crypto";
import { once } from "node:events";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { createServer } from "node:tls";
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createConnect } from "../../../src/adapters/http-client/connect.ts";
import { Pool } from "../../../src/adapters/http-client/connection-pool.ts";
import { createPostSpans } from "../../../src/adapters/http-client/read-whole.ts";
import { ServiceAgent } from "../../../src/adapters/http-proxy/agent.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { addressOf } from "../../../testkit/address.ts";
import { call } from "../../../testkit/call.ts";
import { serverTls, trusting as tls, trusting } from "../../../testkit/certificates.ts";
import { listen } from "../../../testkit/listen.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { openServicePool } from "../../../testkit/service-pool.ts";
import { stage } from "../../../testkit/stage.ts";

const connectTimeoutMs = 60_000;
const keptOpen = rawAnswer(200, "{}");

/** A service in a thread of its own. It counts its answers in shared memory, and reports its port and its connections. */
const fastTlsService = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { key, cert, answer, how, answered } = workerData;
  let connections = 0;
  const server = require("node:tls").createServer({ key, cert }, (socket) => {
    connections += 1;
    socket.on("error", () => {}).on("data", () => {
      socket[how](answer, () => {
        Atomics.add(answered, 0, 1);
        Atomics.notify(answered, 0);
      });
    });
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
  parentPort.on("message", () => parentPort.postMessage(connections));
`;

const openServicePoolTo = (url: string) => openServicePool(url, { connections: 2 });

/** Runs a task in the timers' phase of the event loop, which comes before the phase of the sockets. */
const inTimersPhase = <Value>(run: () => Value) => new Promise<Value>((resolve) => setTimeout(() => resolve(run()), 1));
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("a connection", () => {
  it("that was used last is used first", async () => {
    const { outcome, sockets } = await startHeldUpstream();
    await Promise.all([outcome(), outcome()]);
    const used = new Set<Socket>();
    for (const socket of sockets) socket.on("data", () => used.add(socket));
    for (let n = 0; n < 5; n++) await outcome();
    expect([sockets.length, used.size]).toEqual([2, 1]);
  });

  it.each([
    ["nothing", "", 4_000],
    ["a hint", "Keep-Alive: timeout=21\r\n", 20_000],
    ["a long hint", "Keep-Alive: timeout=900\r\n", 60_000],
  ])("is kept idle for as long as it should if the service says %s", async (_name, line, idleMs) => {
    const { outcome, sockets, clock } = await startHeldUpstream((socket) => socket.write(rawAnswer(200, "{}", line)));
    await outcome();
    const [socket = expect.unreachable()] = sockets;
    clock.push(idleMs - 500);
    await settle();
    expect(socket.readableEnded).toBe(false);
    clock.push(501);
    // The clock also runs by itself, so a limit that is a second too long would end the connection too.
    await expect.poll(() => socket.readableEnded, { timeout: 900 }).toBe(true);
  });

  it.each(["Connection: close\r\n", "Keep-Alive: timeout=1\r\n"])("serves no other request after %j", async (line) => {
    const { outcome, upstream, sockets } = await startHeldUpstream((socket) =>
      socket.write(rawAnswer(200, "{}", line)),
    );
    for (let n = 0; n < 3; n++) expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(3);
    await expect.poll(() => sockets.every(({ readableEnded }) => readableEnded)).toBe(true);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["is closed", (socket) => socket.end()],
    ["is reset", (socket) => socket.resetAndDestroy()],
    ["brings a byte", (socket) => socket.write("!")],
    ["brings a response without a request", (socket) => socket.write(rawAnswer(200, "foreign"))],
  ])("that %s while it is idle is not used again", async (_name, change) => {
    const { outcome, sockets, upstream } = await startHeldUpstream();
    expect(await outcome()).toBe("200 {}");
    const [first] = sockets;
    if (first !== undefined) change(first);
    await settle();
    expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(2);
  });

  it("that was idle for long is checked once more for a close before it is used", async () => {
    const { outcome, clock, sockets, upstream } = await startHeldUpstream();
    expect(await outcome()).toBe("200 {}");
    clock.push(1_000);
    const second = outcome();
    // This turn of the event loop reads no more.
    sockets[0]?.destroy();
    expect(await second).toBe("200 {}");
    expect(upstream.connections).toBe(2);
  });

  it("that closes at the moment of a write never has that request sent again elsewhere", async () => {
    const { outcome, upstream } = await startHeldUpstream((socket, number) => {
      if (number === 1) socket.write(keptOpen);
      else socket.resetAndDestroy();
    });
    expect(await outcome()).toBe("200 {}");
    expect(await outcome()).toBe("upstream_reset unknown ECONNRESET");
    expect([upstream.connections, upstream.requests.length]).toEqual([1, 2]);
  });

  it("that brings a response without a request, at the moment of the next request, is not used for the next one", async () => {
    const { outcome, sockets, upstream } = await startHeldUpstream();
    for (let n = 1; n <= 20; n++) {
      expect(await outcome()).toBe("200 {}");
      const next = await inTimersPhase(() => {
        sockets.at(-1)?.write(rawAnswer(200, "foreign"));
        return { outcome: outcome() };
      });
      expect(await next.outcome).toBe("200 {}");
      expect(upstream.connections).toBe(n + 1);
    }
  });

  it("that brings more bytes than the response serves no other request", async () => {
    const { outcome, upstream } = await startHeldUpstream((socket) =>
      socket.write(keptOpen + rawAnswer(200, "foreign")),
    );
    for (let n = 0; n < 5; n++) expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(5);
  });

  it.each([
    ["write", 1],
    ["end", 5],
  ])(
    "with TLS accepts a response however fast it came, and serves the next request if it may: %s",
    async (how, connections) => {
      const answered = new Int32Array(new SharedArrayBuffer(4));
      const service = new Worker(fastTlsService, {
        eval: true,
        workerData: { ...serverTls, answer: keptOpen, how, answered },
      });
      onTestFinished(async () => void (await service.terminate()));
      const [port] = await once(service, "message");
      const { outcome } = openServicePool(`https://localhost:${port}`, { connections: 2, tls: trusting });
      // The event loop is blocked from the write of the request until its response has arrived.
      const render = () => {
        const before = Atomics.load(answered, 0);
        process.nextTick(() => Atomics.wait(answered, 0, before, 2_000));
        return "{}";
      };
      for (let n = 0; n < 5; n++) expect(await outcome({ render })).toBe("200 {}");
      service.postMessage("count");
      expect(await once(service, "message")).toEqual([connections]);
    },
  );

  it.each([
    ["a refusal of it", rawAnswer(413, "too much"), "413 too much"],
    ["a refusal by 400, the first status that is one", rawAnswer(400, "bad"), "400 bad"],
    ["no answer to it", keptOpen, "upstream_bad_response unknown BEFORE_ITS_REQUEST"],
    ["a refusal, in pieces", rawAnswer(401, "x".repeat(200_000)), `401 ${"x".repeat(200_000)}`],
    ["no answer, in pieces", rawAnswer(200, "x".repeat(200_000)), "upstream_bad_response unknown BEFORE_ITS_REQUEST"],
  ])(
    "whose response came before the request was written whole serves no other request; the response is %s",
    async (_, bytes, end) => {
      const upstream = await startRawUpstream({
        receive: (received, socket) => {
          if (received > 100_000) return;
          socket.pause();
          socket.write(bytes);
        },
      });
      const { outcome } = openServicePoolTo(upstream.url);
      const body = JSON.stringify("x".repeat(32 * 1_048_576));
      for (let n = 1; n <= 2; n++) {
        expect((await outcome({ render: () => body })) === end).toBe(true);
        expect(upstream.connections).toBe(n);
      }
    },
  );

  it.each([
    ["in one piece", "{}"],
    ["in pieces", "x".repeat(200_000)],
  ])("does not accept a second answer to an earlier request, recognised by its x-request-id: %s", async (_, body) => {
    const answerTo = (id: number) => rawAnswer(200, body, `X-Request-Id: id-${id}\r\n`);
    const { outcome, upstream } = await startHeldUpstream((socket, number) => {
      socket.write(answerTo(number === 3 ? 1 : number));
    });
    const ask = (id: number) => outcome({ headers: ["x-request-id", `id-${id}`] });
    expect((await ask(1)) === `200 ${body}`).toBe(true);
    expect((await ask(2)) === `200 ${body}`).toBe(true);
    expect(await ask(3)).toBe("upstream_bad_response unknown REQUEST_ID_OF_ANOTHER");
    expect((await ask(4)) === `200 ${body}`).toBe(true);
    expect(upstream.connections).toBe(2);
  });

  it("knows the last 16 requests by their x-request-id, and no earlier ones", async () => {
    const { outcome } = await startHeldUpstream((socket, number) => {
      const id = [number, 1, 3][Math.max(0, number - 17)];
      socket.write(rawAnswer(200, "{}", `X-Request-Id: id-${id}\r\n`));
    });
    const ask = (id: number) => outcome({ headers: ["x-request-id", `id-${id}`] });
    for (let id = 1; id <= 18; id++) expect(await ask(id)).toBe("200 {}");
    expect(await ask(19)).toBe("upstream_bad_response unknown REQUEST_ID_OF_ANOTHER");
  });

  it.each([
    ["a service that repeats no id", [], ["a", "b", "c"]],
    ["a service with ids of its own", ["x", "y", "z"], ["a", "b", "c"]],
    ["a caller whose requests share one id", ["a", "a", "a"], ["a", "a", "a"]],
    ["a caller that sends the id of another request, too", ["a", "b", "a"], ["a", "b", "c a"]],
    ["requests without an id", ["x", "x", "x"], []],
  ])("serves %s", async (_name, answered, sent) => {
    const line = (id: string | undefined) => (id === undefined ? "" : `x-request-id: ${id}\r\n`);
    const { outcome, upstream } = await startHeldUpstream((socket, number) => {
      socket.write(rawAnswer(200, "{}", line(answered[number - 1])));
    });
    for (let n = 0; n < 3; n++) {
      const ids = sent[n]?.split(" ") ?? [];
      expect(await outcome({ headers: ids.flatMap((id) => ["x-request-id", id]) })).toBe("200 {}");
    }
    expect(upstream.connections).toBe(1);
  });

  it("carries as many requests as allowed, and says close with the last one", async () => {
    const upstream = await startRawUpstream({ answer: keptOpen });
    const { outcome } = openServicePool(upstream.url, { connections: 2, requestsPerConnection: 3 });
    const fails = () => {
      throw new Error("not made");
    };
    for (let n = 1; n <= 7; n++) {
      expect(await outcome()).toBe("200 {}");
      expect(upstream.connections).toBe(Math.ceil(n / 3));
      expect(upstream.requests[n - 1]?.head).toContain(`connection: ${n % 3 === 0 ? "close" : "keep-alive"}`);
      // A request that is not written is not counted.
      if (n % 3 === 2) expect(await outcome({ render: fails })).toBe("Error: not made");
    }
  });
});

describe("requests that find all connections busy", () => {
  it("wait for one in their order, and no more connections are made", async () => {
    const waiting: Socket[] = [];
    const { send, upstream } = await startHeldUpstream((socket) => waiting.push(socket));
    const sent = Array.from({ length: 8 }, (_, n) => send({ render: () => `{"n":${n}}` }));
    for (let n = 0; n < 8; n++) {
      await upstream.whenRequests(Math.min(n + 2, 8));
      waiting[n]?.write(keptOpen);
    }
    await Promise.all(sent);
    expect(upstream.connections).toBe(2);
    const order = upstream.requests.map(({ body }) => JSON.parse(body).n);
    // Two at a time.
    for (const [index, n] of order.entries()) expect(Math.abs(index - n)).toBeLessThan(2);
  });

  it("are not sent when their deadline comes first", async () => {
    const { outcome, clock, upstream } = await startHeldUpstream((socket, n) => n > 2 && socket.write(keptOpen));
    const busy = [outcome(), outcome()];
    await upstream.whenRequests(2);
    const late = [outcome({ timeoutMs: 400 }), outcome({ timeoutMs: 0 })];
    const patient = outcome({ timeoutMs: 60_000 });
    await settle();
    clock.push(500);
    expect(await Promise.all(late)).toEqual(Array(2).fill("upstream_timeout not_sent no connection"));
    clock.push(30_000);
    expect(await Promise.all(busy)).toEqual(Array(2).fill("upstream_timeout unknown no answer"));
    expect(await patient).toBe("200 {}");
    expect(upstream.requests).toHaveLength(3);
  });
});

describe("connections that cannot be opened", () => {
  it("fail one request each", async () => {
    const { outcome, upstream } = await startHeldUpstream();
    upstream.refuse();
    await settle();
    const outcomes = await Promise.all(Array.from({ length: 7 }, () => outcome()));
    expect(outcomes).toEqual(Array(7).fill("upstream_unreachable not_sent ECONNREFUSED"));
  });

  it("fail no request for which another one is being opened", async () => {
    // With TLS the test decides when a connection is ready.
    const raw: Socket[] = [];
    const service = createServer(serverTls, (socket) => {
      socket.on("error", () => {}).on("data", () => held.push(socket));
    });
    const held: Socket[] = [];
    const port = await listen(createTcpServer((socket) => raw.push(socket)));
    const { outcome } = openServicePool(`https://localhost:${port}`, { tls: trusting });
    const first = outcome();
    while (raw.length < 1) await settle();
    service.emit("connection", raw[0]);
    while (held.length < 1) await settle();
    const others = [outcome(), outcome()];
    while (raw.length < 3) await settle();
    held[0]?.write(keptOpen);
    while (held.length < 2) await settle();
    raw[1]?.resetAndDestroy();
    await settle();
    service.emit("connection", raw[2]);
    while (held.length < 3) await settle();
    for (const socket of held.slice(1)) socket.write(keptOpen);
    expect(await Promise.all([first, ...others])).toEqual(Array(3).fill("200 {}"));
  });
});

describe("a pool", () => {
  it("that is closed serves requests that wait, and then ends its connections", async () => {
    const held: Socket[] = [];
    const { outcome, pool, upstream, sockets } = await startHeldUpstream((socket) => held.push(socket));
    const outcomes = Promise.all([outcome(), outcome(), outcome()]);
    await upstream.whenRequests(2);
    let isClosed = false;
    const closed = pool.close().then(() => {
      isClosed = true;
    });
    held[0]?.write(keptOpen);
    await upstream.whenRequests(3);
    expect(isClosed).toBe(false);
    for (const socket of held.slice(1)) socket.write(keptOpen);
    expect(await outcomes).toEqual(Array(3).fill("200 {}"));
    await closed;
    await Promise.all(sockets.map((socket) => socket.readableEnded || once(socket, "end")));
  });

  it("that is closed keeps no connection that became idle together with the last request's connection", async () => {
    const waiting: Socket[] = [];
    const { outcome, pool, upstream, sockets } = await startHeldUpstream((socket) => waiting.push(socket));
    const outcomes = [outcome(), outcome(), outcome()];
    await upstream.whenRequests(2);
    const closed = pool.close().then(() => "closed");
    for (const socket of waiting.splice(0)) socket.write(keptOpen);
    await upstream.whenRequests(3);
    for (const socket of waiting) socket.write(keptOpen);
    expect(await Promise.all(outcomes)).toEqual(["200 {}", "200 {}", "200 {}"]);
    await expect(Promise.race([closed, settle().then(() => `${sockets.length} open`)])).resolves.toBe("closed");
  });

  it("that is closed while it is idle ends at once", async () => {
    const { outcome, pool, sockets } = await startHeldUpstream();
    await Promise.all([outcome(), outcome()]);
    await pool.close();
    await expect.poll(() => sockets.map(({ readableEnded }) => readableEnded)).toEqual([true, true]);
  });

  it("that is destroyed fails requests that were written as unknown, and others as not sent", async () => {
    const { outcome, pool, upstream } = await startHeldUpstream(() => {});
    const outcomes = [outcome(), outcome(), outcome()];
    await upstream.whenRequests(2);
    await pool.destroy();
    expect(await Promise.all([...outcomes, outcome()])).toEqual([
      "upstream_timeout unknown shutdown",
      "upstream_timeout unknown shutdown",
      "draining not_sent shutdown",
      "draining not_sent shutdown",
    ]);
    expect(upstream.requests).toHaveLength(2);
  });
});

it("no more requests than keepAlive.requests are sent over one connection, to the service and to the authorization server", async () => {
  // Both hosts answer with a token: for an order it is any text.
  const upstream = await startRawUpstream({
    answer: rawAnswer(200, '{"access_token":"a","token_type":"Bearer","expires_in":90}'),
  });
  const environment = { requestsPerConnection: 1 };
  const { url } = await stage({ baseUrl: upstream.url, authUrl: upstream.url, environment });
  for (let n = 1; n <= 5; n++) expect((await call(url)).status).toBe(200);
  expect(upstream.requests.length).toBeGreaterThan(5);
  expect(upstream.spoken).toBe(upstream.requests.length);
});

/** A server that accepts connections and sends nothing, so that TLS or a tunnel is never ready. */
async function startSilent() {
  const server = createServer();
  const port = await listen(server);
  const accepted = once(server, "connection").then(([socket]: Socket[]) => {
    if (socket === undefined) throw new Error("a connection without a socket");
    socket.resume().on("error", () => {});
    return { ended: once(socket, "close") };
  });
  return { address: addressOf(`https://127.0.0.1:${port}`), accepted };
}

it.each(["directly", "through a proxy"])(
  "a pool that ends waits for no connection that is being opened to a service, an authorization server or a collector, %s",
  async (way) => {
    const { address, accepted } = await startSilent();
    const proxy = { proxy: { ...address, scheme: "http" as const }, tls, credentials: undefined };
    const egress = way === "directly" ? undefined : proxy;
    const pool = new Pool({ address, tls, connectTimeoutMs, connections: 1, egress }, systemClock);
    const sent = createPostSpans(pool, "/", [], systemClock)("", connectTimeoutMs);
    const { ended } = await accepted;
    await pool.destroy();
    expect((await sent).kind).toBe("failed");
    await ended;
  },
);

it("a pool that ends waits for no connection that is being opened: pools of pass-through routes", async () => {
  const { address, accepted } = await startSilent();
  const connect = createConnect({ address, tls, connectTimeoutMs }, systemClock);
  const agent = new ServiceAgent({ connect, requests: 1, requestsPerConnection: undefined });
  agent.createConnection({});
  const { ended } = await accepted;
  agent.destroy();
  await ended;
});

it("a pool of a pass-through route forgets a connection that is given up while it is opened", () => {
  const destroy = vi.fn();
  const connect = () => ({ destroy });
  const agent = new ServiceAgent({ connect, requests: 1, requestsPerConnection: undefined });
  agent.begunBy(() => agent.createConnection({}))?.destroy();
  agent.destroy();
  expect(destroy).toHaveBeenCalledTimes(1);
});

it("a connection that the service ends before it is used fails its request, and is not opened again and again", async () => {
  const old = { maxVersion: "TLSv1.2", secureOptions: constants.SSL_OP_NO_TICKET } as const;
  const port = await listen(createServer({ ...serverTls, ...old }, (socket) => void socket.end()));
  let connections = 0;
  // The service's last bytes of the handshake and its end arrive together.
  const gate = createTcpServer((client) => {
    connections += 1;
    const held: Buffer[] = [];
    let [isAnswered, isHeld] = [false, false];
    const service = connect(port, "127.0.0.1", () => client.on("data", forward));
    const forward = (bytes: Buffer) => {
      isHeld = isAnswered;
      service.write(bytes);
    };
    service.on("data", (bytes) => {
      isAnswered = true;
      if (isHeld) held.push(bytes);
      else client.write(bytes);
    });
    service.on("end", () => client.end(Buffer.concat(held)));
    for (const side of [client, service]) side.on("error", () => {});
  });
  const { outcome } = openServicePool(`https://localhost:${await listen(gate)}`, { tls: trusting });
  expect(await outcome({ timeoutMs: 5_000 })).toBe("upstream_unreachable not_sent CONNECTION_CLOSED");
  expect(connections).toBe(1);
});

/** A service whose sockets the test holds, the latest connection last. */
async function startHeldUpstream(
  answer: (socket: Socket, number: number) => void = (socket) => socket.write(keptOpen),
) {
  const sockets: Socket[] = [];
  const upstream = await startRawUpstream({
    accept: (socket) => sockets.push(socket.setNoDelay(true)),
    answer: ({ number }, socket) => answer(socket, number),
  });
  return { ...openServicePoolTo(upstream.url), upstream, sockets };
}
