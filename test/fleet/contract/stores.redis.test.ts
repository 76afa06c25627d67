/**
 * The contract of the stores on the test run's common Redis, which is a given address, a container, or a process; and on every other
 * kind of Redis, in containers if the common Redis is one. In a Cluster the user may query the slots, elsewhere not even that.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import type { RedisAccess, RedisPlace } from "../../../src/model/redis-access.ts";
import { Secret } from "../../../src/model/secret.ts";
import { withoutCluster } from "../../../testkit/acl.ts";
import {
  authority,
  clientCertificate,
  clientKey,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { describeClaimStore } from "../../../testkit/contract/claim-store.ts";
import { describeRefreshLock } from "../../../testkit/contract/refresh-lock.ts";
import { describeTokenStore } from "../../../testkit/contract/token-store.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { openRedis, type RedisOptions, type RedisServer } from "../../../testkit/redis.ts";
import { openServer } from "../../../testkit/redis-container.ts";
import { startCluster, startMasters, startSentinels, watched } from "../../../testkit/redis-fleet.ts";
import { accessTo, commonRedis, nodeAt, openReplica, patientClock } from "../../../testkit/redis-replica.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-places-"));
const opened: RedisServer[] = [];
afterAll(async () => {
  for (const redis of opened) await redis.end();
  rmSync(folder, { recursive: true });
});

/** All tests of one kind of Redis use the same servers. */
const keep = async (redis: Promise<RedisServer>) => {
  opened.push(await redis);
  return await redis;
};
const start = (options?: RedisOptions) => keep(openServer(options));
/** Only a process shares its files with the test. */
const startProcess = (args: readonly string[]) => keep(openRedis({ args }));

const limit = (servers: readonly RedisServer[]) =>
  Promise.all(servers.map((server) => server.command("ACL", ...withoutCluster)));
const at = (place: RedisPlace, more: Partial<RedisAccess> = {}) => accessTo(nodeAt(1), { place, ...more });
const hostPort = ({ port }: RedisServer) => ({ host: "127.0.0.1", port });
const write = (name: string, text: string) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

const places: Record<string, () => Promise<RedisAccess>> = {
  async "the common Redis"() {
    return commonRedis();
  },

  async "one Redis"() {
    const redis = await start();
    await limit([redis]);
    return at({ kind: "standalone", node: nodeAt(redis.port) });
  },

  async "a Unix socket"() {
    const path = join(folder, "redis.sock");
    await limit([await startProcess(["--unixsocket", path])]);
    return at({ kind: "standalone", node: { kind: "unix", path, db: 0 } });
  },

  async "TLS with a client certificate"() {
    const port = await freePort();
    await limit([await startProcess(["--tls-port", String(port), ...tlsFiles()])]);
    const tls = { ca: authority, cert: clientCertificate, key: new Secret(clientKey) };
    return at({ kind: "standalone", node: nodeAt(port, { tls: true, host: "localhost" }) }, { tls });
  },

  async "three independent masters for the lock"() {
    const [first, ...others] = await startMasters(start);
    await limit([first, ...others]);
    const lockNodes = others.map(({ port }) => nodeAt(port));
    return at({ kind: "standalone", node: nodeAt(first.port) }, { lockNodes });
  },

  async Sentinels() {
    const { master, replica, sentinels } = await startSentinels(start);
    await limit([master, replica]);
    const [one, ...more] = sentinels.map(hostPort);
    if (one === undefined) throw new Error("three Sentinels");
    return at({ kind: "sentinel", master: watched, nodes: [one, ...more], password: undefined });
  },

  async "a Cluster"() {
    const nodes = await startCluster(start);
    const [one, ...more] = nodes.map(hostPort);
    if (one === undefined) throw new Error("three nodes");
    return at({ kind: "cluster", nodes: [one, ...more] });
  },
};

function tlsFiles(): string[] {
  return [
    "--tls-cert-file",
    write("server.pem", serverCertificate),
    "--tls-key-file",
    write("server.key", serverKey),
    "--tls-ca-cert-file",
    write("ca.pem", authority),
  ];
}

const pass = (ms: number) => sleep(systemClock, ms);
/** A random key, since other users may share the common Redis. */
const ownKey = () => randomBytes(8).toString("hex");

for (const [place, open] of Object.entries(places)) {
  let access: Promise<RedisAccess> | undefined;
  const openTwo = async () => {
    access ??= open();
    return [openReplica(await access, patientClock), openReplica(await access, patientClock)] as const;
  };
  describeTokenStore(place, async () => {
    const [one, other] = await openTwo();
    return { one: one.store, other: other.store, key: ownKey(), pass };
  });
  describeRefreshLock(place, async () => {
    const [one, other] = await openTwo();
    return { one: one.lock, other: other.lock, key: ownKey() };
  });
}

describeClaimStore("the common Redis", async () => {
  const [one, other] = [openReplica(commonRedis(), patientClock), openReplica(commonRedis(), patientClock)];
  return { one: one.claims, other: other.claims, pass };
});
