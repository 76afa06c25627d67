/**
 * The fault proxy causes exactly the faults that are set, in one direction only if told so: other tests rely on it. Latency, black
 * holes, refused connections and faults of single connections are not here: without them the tests beside this one fail.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type FaultProxy, startFaultProxy } from "../../../testkit/fault-proxy.ts";
import type { WayFaults } from "../../../testkit/fault-proxy-way.ts";
import { listen } from "../../../testkit/listen.ts";

/** One end of a connection, and all that it has received. */
class End {
  readonly socket: Socket;
  readonly pieces: number[] = [];
  error: string | undefined;
  text = "";

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.error = error.code;
    });
    socket.on("data", (bytes) => {
      this.pieces.push(bytes.length);
      this.text += bytes.toString("latin1");
      socket.emit("more");
    });
    onTestFinished(() => void socket.destroy());
  }

  async has(length: number): Promise<string> {
    while (this.text.length < length) await once(this.socket, "more");
    return this.text;
  }

  /** Resolves with the time when the other side's end came. */
  async ended(): Promise<number> {
    if (!this.socket.readableEnded) await once(this.socket, "end");
    return performance.now();
  }

  async closed(): Promise<void> {
    if (!this.socket.closed) await new Promise((resolve) => this.socket.once("close", resolve));
  }
}

const ways = ["toTarget", "toCaller"] as const;

const letters = (length: number) => "abcdefghij".repeat(Math.ceil(length / 10)).slice(0, length);

it("passes everything on both ways, half closes too, and counts it", async () => {
  const { proxy, open } = await stageEnds();
  const { caller, target } = await open();
  caller.socket.end(letters(3_000_000));
  await target.ended();
  expect(target.text).toBe(letters(3_000_000));
  target.socket.end("answer after the end");
  await Promise.all([caller.closed(), target.closed()]);
  expect(caller.text).toBe("answer after the end");
  await proxy.until(() => proxy.open === 0);
  expect(proxy).toMatchObject({ connections: 1, open: 0 });
  expect(proxy.toTarget).toMatchObject({ received: 3_000_000, passed: 3_000_000 });
  expect(proxy.toCaller).toMatchObject({ received: 20, passed: 20 });
});

describe.each(ways)("%s alone", (way) => {
  it("bandwidth: bytes take as long as the bandwidth implies", async () => {
    const { from, to, sinceMs } = await stageWay(way, { bytesPerSecond: 50_000 });
    from.socket.write(letters(20_000));
    await expectSound(from, to);
    expect(to.text.length).toBeLessThan(20_000);
    expect(await to.has(20_000)).toBe(letters(20_000));
    expect(sinceMs()).toBeGreaterThanOrEqual(398);
    expect(sinceMs()).toBeLessThan(4_000);
  });

  it.each([1, 7])("slices: pieces of %i bytes at most", async (sliceBytes) => {
    const { from, to, faulty } = await stageWay(way, { sliceBytes });
    from.socket.write(letters(500));
    expect(await to.has(500)).toBe(letters(500));
    expect(Math.max(...to.pieces)).toBe(sliceBytes);
    await expectSound(from, to);
    expect(faulty.passed).toBe(500);
  });

  it.each([0, 1, 99])("truncation: %i bytes and an orderly end, on both sides", async (bytes) => {
    const { proxy, from, to, faulty } = await stageWay(way, { breakAfter: { bytes, how: "truncate" } });
    from.socket.write(letters(100));
    await Promise.all([to.ended(), from.ended()]);
    expect(to.text).toBe(letters(bytes));
    from.socket.end();
    to.socket.end();
    await proxy.until(() => proxy.open === 0);
    expect([from.error, to.error]).toEqual([undefined, undefined]);
    expect(faulty).toMatchObject({ received: 100, passed: bytes });
  });

  it.each([0, 1, 99])("reset: %i bytes and an RST, on both sides", async (bytes) => {
    const { from, to, faulty } = await stageWay(way, { breakAfter: { bytes, how: "reset" } });
    from.socket.write(letters(100));
    await Promise.all([to.closed(), from.closed()]);
    expect([from.error, to.error]).toEqual(["ECONNRESET", "ECONNRESET"]);
    expect(faulty.passed).toBe(bytes);
    expect(letters(bytes).startsWith(to.text)).toBe(true);
  });
});

describe("connections", () => {
  it("are all reset at once, in the middle of whatever is under way", async () => {
    const { proxy, open } = await stageEnds();
    const pairs = [await open(), await open()];
    proxy.toTarget.become({ blackHole: true });
    proxy.reset();
    const ends = pairs.flatMap(({ caller, target }) => [caller, target]);
    await Promise.all(ends.map((end) => end.closed()));
    expect(ends.map(({ error }) => error)).toEqual(Array(4).fill("ECONNRESET"));
  });

  it("are lost for good, without a reset, while new ones pass", async () => {
    const { proxy, open } = await stageEnds();
    const { caller, target } = await open();
    proxy.lose();
    proxy.heal();
    caller.socket.end("lost");
    target.socket.end("lost too");
    await proxy.until(() => proxy.toTarget.received === 4 && proxy.toCaller.received === 8);
    const next = await open();
    await expectSound(next.caller, next.target);
    expect([target.text, caller.text, proxy.open]).toEqual(["", "", 2]);
  });

  it("pass a reset of either side on", async () => {
    const { open } = await stageEnds();
    const [first, second] = [await open(), await open()];
    first.caller.socket.resetAndDestroy();
    second.target.socket.resetAndDestroy();
    await Promise.all([first.target.closed(), second.caller.closed()]);
    expect([first.target.error, second.caller.error]).toEqual(["ECONNRESET", "ECONNRESET"]);
  });
});

describe("when a test ends", () => {
  const left: { proxy?: FaultProxy; end?: End } = {};

  it("a connection may still be open", async () => {
    const { proxy, open } = await stageEnds();
    Object.assign(left, { proxy, end: (await open()).caller });
  });

  it("the port and the connection are closed", async () => {
    await left.end?.closed();
    await left.proxy?.until(() => left.proxy?.open === 0);
    const probe = connect(left.proxy?.port ?? 0, "127.0.0.1");
    const [error] = await once(probe, "error");
    expect(error.code).toBe("ECONNREFUSED");
  });
});

async function stageEnds() {
  const arrived: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    arrived.push(socket);
    server.emit("arrived");
  });
  const port = await listen(server);
  const proxy = await startFaultProxy(`http://127.0.0.1:${port}`);
  const open = async () => {
    const caller = new End(connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true }));
    for (;;) {
      const socket = arrived.shift();
      if (socket !== undefined) return { caller, target: new End(socket) };
      await once(server, "arrived");
    }
  };
  return { proxy, open };
}

type WayName = (typeof ways)[number];

/** A connection whose faults are in one direction. */
async function stageWay(way: WayName, faults: Partial<WayFaults> = {}) {
  const { proxy, open } = await stageEnds();
  const { caller, target } = await open();
  proxy[way].become(faults);
  const [from, to] = way === "toTarget" ? [caller, target] : [target, caller];
  const started = performance.now();
  return { proxy, from, to, faulty: proxy[way], sinceMs: () => performance.now() - started };
}

/** Bytes in the other direction arrive, although nothing moves in the faulty one. */
async function expectSound(from: End, to: End) {
  to.socket.write("back");
  expect(await from.has(4)).toBe("back");
}
