import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Child, Children } from "./children.ts";
import { Refusal } from "./refusal.ts";

/** A real Redis, to be killed and started again at the same place. */
export interface RedisServer {
  readonly version: string;
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
}

/**
 * A Redis of the demo's own. On a Unix socket: nobody else can reach it, and no port can be lost while it is away. It
 * keeps nothing on disk, so that it comes back empty.
 * @throws Refusal when there is no redis-server
 */
export async function startRedis(children: Children, folder: string): Promise<RedisServer> {
  const socket = join(folder, "redis.sock");
  const version = readVersion();
  const args = ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", folder];
  const forgetful = ["--save", "", "--appendonly", "no", "--daemonize", "no", "--logfile", ""];
  let child: Child | undefined;
  const server: RedisServer = {
    version,
    url: `unix:${socket}`,
    async start() {
      let output = "";
      let announce = (_: "ready") => {};
      const ready = new Promise<"ready">((resolve) => {
        announce = resolve;
      });
      child = await children.start("redis-server", [...args, ...forgetful], (line) => {
        output += `${line}\n`;
        if (/ready to accept connections/i.test(line)) announce("ready");
      });
      const first = await Promise.race([ready, child.ended]);
      if (first !== "ready")
        throw new Refusal(`redis-server did not start (${first}):\n${output}${child.complaints()}`);
    },
    async kill() {
      await child?.end("SIGKILL");
    },
  };
  await server.start();
  return server;
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
