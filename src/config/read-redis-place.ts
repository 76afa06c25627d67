import type { RedisNode, RedisPlace } from "../model/redis-access.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";
import type { RawRedis } from "./redis-schema.ts";

const section: Path = ["redis"];
const places: readonly Path[] = ["url", "sentinel", "cluster"].map((name) => [...section, name]);
const lockNodesPath: Path = [...section, "lockNodes"];

/** Where the shared cache is: exactly one of url, sentinel and cluster. */
export async function readRedisPlace(raw: RawRedis, { findings, secrets }: Reading): Promise<RedisPlace | undefined> {
  const { url, sentinel, cluster } = raw;
  const given = [url, sentinel, cluster].filter((place) => place !== undefined).length;
  if (given === 0) {
    return findings.conclude(places, section, "redis does not say where it is", "add url, sentinel or cluster");
  }
  if (given > 1) {
    const message = "redis is in one place only: url, sentinel or cluster";
    findings.refuse(section, message, "keep one of them", `${given} of them`);
  }
  const source = sentinel?.password;
  const password = source && (await secrets.secret(source, [...section, "sentinel", "password"]));
  if (url !== undefined) return { kind: "standalone", node: url };
  const [first, ...others] = sentinel?.nodes ?? cluster?.nodes ?? [];
  if (first === undefined) return undefined;
  const nodes = [first, ...others] as const;
  return sentinel === undefined
    ? { kind: "cluster", nodes }
    : { kind: "sentinel", master: sentinel.name, nodes, password };
}

/** A majority locks: an odd number of masters, each a server of its own. */
export function checkLockNodes({ url, lockNodes }: RawRedis, { findings }: Reading): void {
  if (lockNodes.length === 0) return;
  // Two lock servers are worse than one: a majority of two is both.
  const masters = lockNodes.length + (url === undefined ? 0 : 1);
  if (url === undefined || masters % 2 === 0) {
    const message = "the lock needs an odd number of independent masters";
    const fix = "with url there must be 3, 5, … in all";
    findings.conclude([...places, lockNodesPath], lockNodesPath, message, fix, `${masters} in all`);
  }
  const all = nodesByUrl({ url, lockNodes });
  for (const [index, { node, path }] of all.entries()) {
    const earlier = all.slice(0, index).find((other) => serverOf(other.node) === serverOf(node));
    if (earlier === undefined) continue;
    const message = "one server twice is not independent: where it is lost, both are";
    findings.refuse(path, message, "name another server, or remove it");
  }
}

/** A node that is given by its URL, and where. */
export interface NodeByUrl {
  readonly node: RedisNode;
  readonly path: Path;
}

export function nodesByUrl({ url, lockNodes }: Pick<RawRedis, "url" | "lockNodes">): readonly NodeByUrl[] {
  const first = url === undefined ? [] : [{ node: url, path: [...section, "url"] }];
  return [...first, ...lockNodes.map((node, index) => ({ node, path: [...lockNodesPath, index] }))];
}

/** Its databases and its ways in are the same server's. */
function serverOf(node: RedisNode): string {
  if (node.kind === "unix") return node.path;
  const isLoopback = node.host === "127.0.0.1" || node.host === "::1";
  return `${isLoopback ? "localhost" : node.host} ${node.port}`;
}
