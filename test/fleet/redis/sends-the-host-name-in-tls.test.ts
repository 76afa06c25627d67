/** A front that routes by name finds it in each TLS connection to Redis (SNI, RFC 6066 section 3), the doctor's included. */
import dns from "node:dns";
import { expect, it, onTestFinished, vi } from "vitest";
import { checkRedis } from "../../../src/cli/doctor/redis.ts";
import { systemClock } from "../../../src/model/clock.ts";
import type { RedisAccess } from "../../../src/model/redis-access.ts";
import { Secret } from "../../../src/model/secret.ts";
import { authority, clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { acquire } from "../../../testkit/contract/refresh-lock.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { startCluster, startMasters, watched } from "../../../testkit/redis-fleet.ts";
import { accessTo, nodeAt, openReplica, patientClock } from "../../../testkit/redis-replica.ts";
import { startTlsFront } from "../../../testkit/tls-front.ts";

const tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };

const startFront = ({ port }: RealRedis) => startTlsFront(port);

it.each([
  ["a name", "localhost", "localhost"],
  ["a name that ends with a dot", "localhost.", "localhost"],
  ["an address, which is no name", "127.0.0.1", "none"],
])("one server and the masters of the lock: %s", async (_, host, sent) => {
  const { lookup } = dns;
  // Not every machine knows localhost with a dot.
  vi.spyOn(dns, "lookup").mockImplementation(((name: string, ...rest: [never, never]) =>
    lookup(name.replace(/\.$/, ""), ...rest)) as typeof dns.lookup);
  onTestFinished(() => void vi.restoreAllMocks());
  const fronts = await Promise.all((await startMasters(startRedis)).map(startFront));
  const [node, ...lockNodes] = fronts.map(({ port }) => nodeAt(port, { host, tls: true }));
  await use(accessTo(node ?? expect.unreachable(), { lockNodes, tls }));
  for (const { names } of fronts) expect(names).toEqual([sent, sent]);
});

it("Sentinels, and the master that they name", async () => {
  const front = await startFront(await startRedis());
  const names = ["sentinel resolve-hostnames yes", "sentinel announce-hostnames yes"];
  const sentinel = await startRedis({ sentinel: [...names, `sentinel monitor ${watched} localhost ${front.port} 1`] });
  const sentinelFront = await startFront(sentinel);
  const nodes = [{ host: "localhost", port: sentinelFront.port }] as const;
  await use(accessTo(nodeAt(1), { place: { kind: "sentinel", master: watched, nodes, password: undefined }, tls }));
  for (const { names } of [front, sentinelFront]) {
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names)).toEqual(new Set(["localhost"]));
  }
});

it("each node of a Cluster, by the name that it announces", async () => {
  const nodes = await startCluster(startRedis);
  const fronts = await Promise.all(nodes.map(startFront));
  for (const [index, node] of nodes.entries()) {
    await node.config("cluster-announce-port", fronts[index]?.port ?? 0);
    await node.config("cluster-announce-hostname", "localhost");
    await node.config("cluster-preferred-endpoint-type", "hostname");
  }
  const announced = fronts.map(({ port }) => `localhost ${port}`).sort();
  for (const node of nodes) {
    const slots = async () =>
      ((await node.command("CLUSTER", "SLOTS")) as [number, number, [string, number]][])
        .map(([, , [host, port]]) => `${host} ${port}`)
        .sort();
    await expect.poll(slots).toEqual(announced);
  }
  // The first of them is given by its address.
  const place = { kind: "cluster", nodes: [{ host: "127.0.0.1", port: fronts[0]?.port ?? 0 }] } as const;
  await use(accessTo(nodeAt(1), { place, tls }));
  for (const [index, { names }] of fronts.entries()) {
    expect(names).toContain("localhost");
    expect(names.filter((name) => name !== "localhost").every((name) => index === 0 && name === "none")).toBe(true);
  }
});

/** Uses Redis as `serve` does, for several keys, and then as `doctor` does. */
async function use(access: RedisAccess): Promise<void> {
  const { lock, store } = openReplica(access, patientClock);
  const keys = Array.from({ length: 12 }, (_, n) => `${n}`.repeat(8));
  for (const key of keys) {
    expect((await store.read(key)).limits).toBeDefined();
    await (await acquire(lock, key)).release();
  }
  const run = { config: { tokens: { cache: "redis", redis: access } }, clock: systemClock };
  const checks = await checkRedis({ ...run, config: { ...run.config, callbacks: [] } } as never, keys);
  expect(checks.filter(({ verdict }) => verdict === "fail")).toEqual([]);
}
