/** A Redis that answers everything, but always too late, is away; it does not come and go with every probe. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { sleep, systemClock } from "../../src/clock.ts";
import { startRedis } from "../support/real-redis.ts";
import { openReplica } from "../support/redis-replica.ts";

const key = "01".repeat(32);
/** A command has 100 ms. */
const lateMs = 130;
/** Probes are a second apart. */
const watchedMs = 8_000;

/** A port in front of another; answers come as late as it is told. */
async function startSlowWire(port: number) {
  const wire = { port: 0, delayMs: 0 };
  const server = createServer((socket) => {
    const target = connect(port, "127.0.0.1");
    socket.on("error", () => {}).on("close", () => target.destroy());
    target.on("error", () => {}).on("close", () => socket.destroy());
    socket.pipe(target);
    target.on("data", (bytes) => setTimeout(() => socket.writable && socket.write(bytes), wire.delayMs));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  wire.port = (server.address() as AddressInfo).port;
  return wire;
}

it("a Redis that answers in 130 ms is called away once, and back once when it is fast again", async () => {
  const wire = await startSlowWire((await startRedis()).port);
  const { store, recorder } = openReplica(wire);
  const said = () => recorder.events.map(({ kind }) => kind).filter((kind) => /^redis_(up|down)$/.test(kind));
  await store.read(key);
  wire.delayMs = lateMs;
  const untilMs = systemClock.nowMs() + watchedMs;
  while (systemClock.nowMs() < untilMs) {
    await store.read(key);
    await sleep(systemClock, 50);
  }
  expect(said()).toEqual(["redis_up", "redis_down"]);
  wire.delayMs = 0;
  await recorder.nth("redis_up", 2);
  expect(said()).toEqual(["redis_up", "redis_down", "redis_up"]);
}, 40_000);
