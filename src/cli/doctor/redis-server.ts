import { createCacheClient, createNodeClient, type RedisClient } from "../../adapters/redis/client.ts";
import { describeBind } from "../../model/bind.ts";
import {
  describeRedisNode,
  type HostPort,
  type RedisAccess,
  type RedisNode,
  type RedisPlace,
} from "../../model/redis-access.ts";

/** One Redis that the configuration names, or one that several addresses stand for. */
export interface RedisServer {
  /** As in events and metrics: `cache`, `lock-2`, …. */
  readonly node: string;
  /** As people know it: its URL, or the Sentinels' or the Cluster's addresses. */
  readonly place: string;
  /** Which setting names it. */
  readonly setting: string;
  readonly isTls: boolean;
  readonly kind: RedisPlace["kind"];
  connect(): RedisClient;
}

export function serversOf(access: RedisAccess): RedisServer[] {
  const { place, lockNodes, tls } = access;
  const settings = { standalone: "redis.url", sentinel: "redis.sentinel", cluster: "redis.cluster" };
  const cache: RedisServer = {
    node: "cache",
    place: describePlace(place),
    setting: settings[place.kind],
    isTls: place.kind === "standalone" ? speaksTls(place.node) : tls !== undefined,
    kind: place.kind,
    connect: () => createCacheClient(access),
  };
  const others = lockNodes.map((node, index): RedisServer => {
    const setting = `redis.lockNodes[${index}]`;
    const own = { place: describeRedisNode(node), setting, isTls: speaksTls(node) };
    return { ...own, node: `lock-${index + 2}`, kind: "standalone", connect: () => createNodeClient(node, access) };
  });
  return [cache, ...others];
}

function speaksTls(node: RedisNode): boolean {
  return node.kind === "tcp" && node.tls;
}

function describePlace(place: RedisPlace): string {
  const list = (nodes: readonly HostPort[]) => nodes.map((node) => describeBind({ kind: "tcp", ...node })).join(", ");
  switch (place.kind) {
    case "standalone":
      return describeRedisNode(place.node);
    case "sentinel":
      return `${place.master} by the Sentinels ${list(place.nodes)}`;
    case "cluster":
      return `Cluster ${list(place.nodes)}`;
  }
}
