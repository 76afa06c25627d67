/** A Redis that has failed over is found within two seconds: while it fails, its name is looked up and connected each second. */
import dns from "node:dns";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt, openReplica } from "../../../testkit/redis-replica.ts";

afterEach(() => void vi.restoreAllMocks());

/** On a machine whose other programs hold this test up. */
const busyMs = 3_000;

const failures: Readonly<Record<string, (old: RealRedis, next: RealRedis) => unknown>> = {
  "is read-only now": (old, next) => old.command("REPLICAOF", "127.0.0.1", next.port),
  "takes no writes, since it has lost its replicas": (old) => old.config("min-replicas-to-write", 1),
  async "takes no writes, since it cannot save"(old) {
    await old.config("dir", "/proc");
    await old.config("save", "1 1");
    await old.command("BGSAVE").catch(() => {});
    await expect.poll(() => old.command("SET", "any", "1").catch(String)).toMatch(/MISCONF/);
  },
  async "is a replica that has lost its master"(old) {
    await old.config("replica-serve-stale-data", "no");
    await old.command("REPLICAOF", "127.0.0.1", 1);
  },
  "is full": (old) => old.config("maxmemory", 1),
  "is gone": (old) => old.kill(),
  hangs: (old) => old.stop(),
};

it.each(Object.entries(failures))("the old one %s: the new one is in use within 2 s", async (_, begin) => {
  const { old, next, claim, move, before, lookUps, connection } = await stage();
  await begin(old, next);
  expect(await claim()).toBe("refused");
  await expect.poll(() => connection.snapshot().isUp).toBe(false);
  const [connections, looked, sinceMs] = [before.connections(), lookUps(), systemClock.nowMs()];
  // Nobody claims anything meanwhile.
  await sleep(systemClock, 3_000);
  const seconds = (systemClock.nowMs() - sinceMs) / 1_000;
  for (const tries of [before.connections() - connections, lookUps() - looked]) {
    expect(tries).toBeGreaterThanOrEqual(1);
    expect(tries).toBeLessThanOrEqual(1 + seconds / 0.75);
  }
  move();
  const movedAtMs = systemClock.nowMs();
  while ((await claim()) !== "claimed") await sleep(systemClock, 20);
  expect(systemClock.nowMs() - movedAtMs).toBeLessThan(2_000 + busyMs);
  expect(await next.command("KEYS", "countersign:*:once")).toHaveLength(1);
  old.cont();
});

it("an order that comes long after is not refused: the new one was found without it", async () => {
  const { old, next, claim, move, recorder } = await stage();
  await old.command("REPLICAOF", "127.0.0.1", next.port);
  expect(await claim()).toBe("refused");
  await recorder.nth("redis_down", 1);
  move();
  await recorder.nth("redis_up", 2);
  expect(await claim()).toBe("claimed");
  expect(recorder.of("redis_down")).toMatchObject([{ failure: "readonly" }]);
});

/** A port of this loopback address that leads to a Redis on 127.0.0.1. */
async function startFront(host: string, port: number, target: RealRedis) {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((caller) => {
    connections += 1;
    const to = connect(target.port, "127.0.0.1");
    for (const [socket, other] of [
      [caller, to],
      [to, caller],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
  });
  server.listen(port, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { connections: () => connections };
}

/** Two Redis servers, and a replica that knows a name: it leads to the first server until it is moved to the second. */
async function stage() {
  const [old, next] = [await startRedis({ args: ["--enable-protected-configs", "yes"] }), await startRedis()];
  const port = await freePort();
  const before = await startFront("127.0.0.2", port, old);
  await startFront("127.0.0.3", port, next);
  let address = "127.0.0.2";
  let lookUps = 0;
  const { lookup } = dns;
  vi.spyOn(dns, "lookup").mockImplementation(((name: string, options: never, done: never) => {
    if (name !== "cache.example") return lookup(name, options, done);
    lookUps += 1;
    return lookup(address, options, done);
  }) as typeof dns.lookup);
  const { claims, recorder, connection } = openReplica(accessTo(nodeAt(port, { host: "cache.example" })));
  let claimed = 0;
  const claim = () => {
    claimed += 1;
    const terms = { kind: "once", key: `order-${claimed}`, holder: `a${claimed}`, note: "n" } as const;
    const claim = claims.open({ ...terms, leaseMs: 10_000, lifetimeMs: 60_000, isTakenOver: false });
    return claim.make().then(
      ({ kind }) => kind,
      () => "refused" as const,
    );
  };
  expect(await claim()).toBe("claimed");
  return {
    old,
    next,
    claim,
    recorder,
    connection,
    before,
    lookUps: () => lookUps,
    move() {
      address = "127.0.0.3";
    },
  };
}
