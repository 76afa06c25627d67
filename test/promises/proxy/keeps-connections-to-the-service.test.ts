/** Which connection a request to the service takes, how long connections are kept, and how a pool of them ends. */
import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { createServer } from "node:tls";
import { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { authority, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { openServicePool } from "../../../testkit/service-pool.ts";

const keptOpen = rawAnswer(200, "{}");

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

/** A service with a loop of its own. It counts its answers for the other side, and tells its port and its connections. */
const fastTlsService = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { key, cert, answer, answered } = workerData;
  let connections = 0;
  const server = require("node:tls").createServer({ key, cert }, (socket) => {
    connections += 1;
    socket.on("error", () => {}).on("data", () => {
      socket.write(answer, () => {
        Atomics.add(answered, 0, 1);
        Atomics.notify(answered, 0);
      });
    });
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
  parentPort.on("message", () => parentPort.postMessage(connections));
`;

const openServicePoolTo = (url: string) => openServicePool(url, { connections: 2 });

/** Runs in the timers' phase of the event loop, which comes before that of the sockets. */
const inTimersPhase = <Value>(run: () => Value) => new Promise<Value>((resolve) => setTimeout(() => resolve(run()), 1));
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

describe("a connection", () => {
  it("serves requests that follow each other", async () => {
    const { outcome, upstream } = await startHeldUpstream();
    for (let n = 0; n < 20; n++) expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(1);
  });

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
  ])("is idle for so long, where the service says %s", async (_name, line, idleMs) => {
    const { outcome, sockets, clock } = await startHeldUpstream((socket) => socket.write(rawAnswer(200, "{}", line)));
    await outcome();
    let hasEnded = false;
    sockets[0]?.on("end", () => {
      hasEnded = true;
    });
    clock.push(idleMs - 500);
    await settle();
    expect(hasEnded).toBe(false);
    clock.push(501);
    await settle();
    expect(hasEnded).toBe(true);
  });

  it.each(["Connection: close\r\n", "Keep-Alive: timeout=1\r\n"])("serves no other request after %j", async (line) => {
    const { outcome, upstream, sockets } = await startHeldUpstream((socket) =>
      socket.write(rawAnswer(200, "{}", line)),
    );
    for (let n = 0; n < 3; n++) expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(3);
    await settle();
    expect(sockets.every(({ readableEnded }) => readableEnded)).toBe(true);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["is closed", (socket) => socket.end()],
    ["is reset", (socket) => socket.resetAndDestroy()],
    ["brings a byte", (socket) => socket.write("!")],
    ["brings a response that nothing asked for", (socket) => socket.write(rawAnswer(200, "foreign"))],
  ])("that %s while it is idle is not used again", async (_name, change) => {
    const { outcome, sockets, upstream } = await startHeldUpstream();
    expect(await outcome()).toBe("200 {}");
    const [first] = sockets;
    if (first !== undefined) change(first);
    await settle();
    expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(2);
  });

  it("that brings a response which nothing asked for, in the moment of the next request, is not used for it", async () => {
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

  it("that brings more than its response serves no other request", async () => {
    const { outcome, upstream } = await startHeldUpstream((socket) =>
      socket.write(keptOpen + rawAnswer(200, "foreign")),
    );
    for (let n = 0; n < 5; n++) expect(await outcome()).toBe("200 {}");
    expect(upstream.connections).toBe(5);
  });

  it("with TLS serves the next request, however fast its response came", async () => {
    const answered = new Int32Array(new SharedArrayBuffer(4));
    const service = new Worker(fastTlsService, {
      eval: true,
      workerData: { key: serverKey, cert: serverCertificate, answer: keptOpen, answered },
    });
    onTestFinished(async () => void (await service.terminate()));
    const [port] = await once(service, "message");
    const tls = { ca: authority, cert: undefined, key: undefined };
    const { outcome } = openServicePool(`https://localhost:${port}`, { connections: 2, tls });
    // The loop stands still from the write of the request until its response is there.
    const render = () => {
      const before = Atomics.load(answered, 0);
      process.nextTick(() => Atomics.wait(answered, 0, before, 2_000));
      return "{}";
    };
    for (let n = 0; n < 5; n++) expect(await outcome({ render })).toBe("200 {}");
    service.postMessage("count");
    expect(await once(service, "message")).toEqual([1]);
  });

  it("whose response came before all of the request was written serves no other one", async () => {
    const upstream = await startRawUpstream({
      receive: (bytes, socket) => {
        if (bytes > 100_000) return;
        socket.pause();
        socket.write(rawAnswer(413, "too much"));
      },
    });
    const { outcome } = openServicePoolTo(upstream.url);
    const body = JSON.stringify("x".repeat(32 * 1_048_576));
    for (let n = 1; n <= 2; n++) {
      expect(await outcome({ render: () => body })).toBe("413 too much");
      expect(upstream.connections).toBe(n);
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

describe("connections that cannot be made", () => {
  it("fail one request each", async () => {
    const { outcome, upstream } = await startHeldUpstream();
    upstream.refuse();
    await settle();
    const outcomes = await Promise.all(Array.from({ length: 7 }, () => outcome()));
    expect(outcomes).toEqual(Array(7).fill("upstream_unreachable not_sent ECONNREFUSED"));
  });

  it("are given up in time", async () => {
    const upstream = await startRawUpstream();
    const { outcome, clock } = openServicePool(upstream.url.replace("http:", "https:"), { connectTimeoutMs: 5_000 });
    const refused = outcome();
    await upstream.whenConnections(1);
    clock.push(5_001);
    expect(await refused).toBe("upstream_unreachable not_sent CONNECT_TIMEOUT");
  });

  it("fail no request for which another one is being made", async () => {
    // TLS, so that the test decides when a connection is ready.
    const raw: Socket[] = [];
    const service = createServer({ key: serverKey, cert: serverCertificate }, (socket) => {
      socket.on("error", () => {}).on("data", () => held.push(socket));
    });
    const held: Socket[] = [];
    const gate = createTcpServer((socket) => raw.push(socket)).listen(0, "127.0.0.1");
    onTestFinished(() => void gate.close());
    await once(gate, "listening");
    const tls = { ca: authority, cert: undefined, key: undefined };
    const { outcome } = openServicePool(`https://localhost:${(gate.address() as AddressInfo).port}`, { tls });
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
  it("that is closed serves what waits, and ends its connections after that", async () => {
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

  it("that is closed keeps no connection that became idle together with the one for the last request", async () => {
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
    await settle();
    expect(sockets.map(({ readableEnded }) => readableEnded)).toEqual([true, true]);
  });

  it("that is destroyed fails what was written as unknown, the rest as not sent", async () => {
    const { outcome, pool, upstream } = await startHeldUpstream(() => {});
    const outcomes = [outcome(), outcome(), outcome()];
    await upstream.whenRequests(2);
    await pool.destroy();
    expect(await Promise.all([...outcomes, outcome()])).toEqual([
      "upstream_reset unknown POOL_CLOSED",
      "upstream_reset unknown POOL_CLOSED",
      "upstream_unreachable not_sent POOL_CLOSED",
      "upstream_unreachable not_sent POOL_CLOSED",
    ]);
    expect(upstream.requests).toHaveLength(2);
  });
});
