import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { openRedis, type RealRedis } from "../../testkit/redis.ts";
import { Refusal } from "./refusal.ts";

export interface RedisServer extends RealRedis {
  readonly version: string;
}

/**
 * A Redis of the demo's own, on a Unix socket: no other program can reach it, and no port can be lost while it is away.
 * @throws Refusal when there is no redis-server
 */
export async function startRedis(): Promise<RedisServer> {
  const version = readVersion();
  return { version, ...(await openRedis({ isOnUnixSocket: true })) };
}

function readVersion(): string {
  try {
    const text = execFileSync("redis-server", ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return /v=(\S+)/.exec(text)?.[1] ?? "of an unknown version";
  } catch {
    throw new Refusal(`This demo needs redis-server, which is not installed. Type:\n\n   ${chooseInstallLine()}\n`);
  }
}

const installLines: readonly (readonly [program: string, line: string])[] = [
  ["/usr/bin/apt-get", "sudo apt-get install -y redis-server"],
  ["/usr/bin/dnf", "sudo dnf install -y redis"],
  ["/sbin/apk", "apk add redis"],
  ["/usr/bin/pacman", "sudo pacman -S redis"],
];

/** The one line to type on this machine. */
function chooseInstallLine(): string {
  if (process.platform === "darwin") return "brew install redis";
  return (installLines.find(([program]) => existsSync(program)) ?? ["", "sudo apt-get install -y redis-server"])[1];
}
