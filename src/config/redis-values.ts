import { isIPv6 } from "node:net";
import { describeBind } from "../model/bind.ts";
import type { HostPort, RedisNode } from "../model/redis-access.ts";
import { canonicalIPv6, isSocketPath, type Read } from "./values.ts";

/** For editors; the functions below decide. */
export const nodePattern = /^(rediss?:\/\/[^\s@/?#]+(\/\d{0,3})?|unix:\/[^?#]+(\?db=\d{1,3})?)$/;
export const hostPortPattern = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/;

const urlForm = /^(rediss?):\/\/([^/]+)(?:\/(\d{1,3})?)?$/i;
const socketForm = /^unix:([^?#]+)(?:\?db=(\d{1,3}))?$/;
const authorityForm = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]*[a-z0-9_-]))(?::(\d{1,5}))?$/i;

const redisPort = 6379;

/** `redis://host[:port][/db]`, `rediss://…` (TLS) or `unix:/path[?db=1]`; no secret stands in any of them. */
export function readRedisNode(text: string): Read<RedisNode> {
  const [, path, socketDb = "0"] = socketForm.exec(text) ?? [];
  if (path !== undefined) {
    // One text for one path, as for addresses; some write unix:///run.
    const plain = path.replace(/\/{2,}/g, "/");
    if (isSocketPath(plain)) return { value: { kind: "unix", path: plain, db: Number(socketDb) } };
    return { fix: "write unix: and an absolute path of at most 107 bytes, like unix:/run/redis/redis.sock" };
  }
  const [, scheme = "", authority = "", db = "0"] = urlForm.exec(text) ?? [];
  const place = readAuthority(authority, redisPort);
  if (place !== undefined) {
    return { value: { kind: "tcp", ...place, tls: scheme.toLowerCase() === "rediss", db: Number(db) } };
  }
  const forms = "redis://host:6379, rediss://host:6379 (TLS) or unix:/path/redis.sock?db=0";
  return { fix: `write ${forms}; user and password have keys of their own` };
}

/** `host:port`, as Sentinels and Cluster nodes are named. */
export function readHostPort(text: string): Read<HostPort> {
  const place = readAuthority(text);
  return place === undefined ? { fix: "write host:port" } : { value: place };
}

function readAuthority(text: string, defaultPort?: number): HostPort | undefined {
  const [, ipv6, name = "", digits] = authorityForm.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port === undefined || port < 1 || port > 65_535) return undefined;
  if (ipv6 === undefined) return name === "" ? undefined : { host: name.toLowerCase(), port };
  return isIPv6(ipv6) ? { host: canonicalIPv6(ipv6), port } : undefined;
}

/** As it is written in the configuration. */
export function describeRedisNode(node: RedisNode): string {
  if (node.kind === "unix") return `${describeBind(node)}${node.db === 0 ? "" : `?db=${node.db}`}`;
  return `${node.tls ? "rediss" : "redis"}://${describeBind(node)}${node.db === 0 ? "" : `/${node.db}`}`;
}
