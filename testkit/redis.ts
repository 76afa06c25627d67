import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { basename, relative } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { expect, onTestFinished } from "vitest";
import { aclLine } from "./acl.ts";
import { ConfigWriter } from "./config-writer.ts";
import { freePort } from "./free-port.ts";
import { searchRedis } from "./leaks/search-redis.ts";

/** The one line to type. */
const missingServer = "The tests need redis-server. Type: apt-get install redis-server   (or: brew install redis)";

export interface RedisOptions {
  /** Further arguments of redis-server, e.g. `--maxmemory`, `2mb`. */
  readonly args?: readonly string[];
  /** Runs it as a Sentinel, by these lines of its configuration. */
  readonly sentinel?: readonly string[];
}

/** A redis-server process with an owner: it can be stopped, killed and started again on its port. */
export interface RealRedis {
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  readonly pid: () => number;
  /** A command of the test's own, as the default user. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
  config(name: string, value: string | number): Promise<void>;
  /** SIGSTOP, and back with SIGCONT. */
  stop(): void;
  cont(): void;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>;
  /** Ends it; the end of the test does so too. */
  end(): Promise<void>;
}

/** Starts one for a test; ends with it. */
export async function startRedis(options: RedisOptions = {}): Promise<RealRedis> {
  const redis = await openRedis(options);
  onTestFinished(() => redis.end());
  return redis;
}

/** What would outlive this process. */
const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const server of living) server.kill("SIGKILL");
});

/** Starts one that the caller ends; it does not outlive this process, however that ends. */
export async function openRedis({ args = [], sentinel }: RedisOptions = {}): Promise<RealRedis> {
  expectDeclared();
  const folder = new ConfigWriter("redis");
  const port = await freePort();
  const file = folder.write("redis.conf", (sentinel ?? [aclLine]).join("\n"));
  const role = sentinel === undefined ? ["--save", "", "--appendonly", "no"] : ["--sentinel"];
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder.path];
  const start = () => startServer([file, ...place, ...role, ...args]);
  let server = await start();
  const admin = new Redis({ port, lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => 50 });
  admin.on("error", () => {});
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    pid: () => server.pid ?? 0,
    command: (name, ...given) => admin.call(name, ...given),
    async config(name, value) {
      await admin.config("SET", name, String(value));
    },
    stop: () => void server.kill("SIGSTOP"),
    cont: () => void server.kill("SIGCONT"),
    kill,
    async restart() {
      await kill();
      server = await start();
    },
    async end() {
      if (server.exitCode === null && server.signalCode === null) await searchRedis(admin);
      admin.disconnect();
      await kill();
      folder.remove();
    },
  };
}

/**
 * Where there is no redis-server, test files are left out by their paths (vitest.config.ts): any other would fail there.
 * @throws Error where the path of the test file that runs does not say that it needs a Redis
 */
export function expectDeclared(): void {
  const file = runningTestFile();
  if (file === undefined || /[./]redis[./]/.test(relative(process.cwd(), file))) return;
  throw new Error(`${basename(file)} asks for a Redis: rename it to ${basename(file, ".test.ts")}.redis.test.ts`);
}

/** Undefined in scripts, benchmarks and the global set-up, which Vitest runs in no worker. */
function runningTestFile(): string | undefined {
  try {
    return expect.getState().testPath;
  } catch {
    return undefined;
  }
}

/** Resolves when it accepts connections. */
async function startServer(args: readonly string[]): Promise<ChildProcess> {
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "pipe"] });
  living.add(server);
  server.once("exit", () => living.delete(server));
  prefer(server);
  const lines: string[] = [];
  const log = createInterface({ input: server.stdout }).on("line", (line) => lines.push(line));
  return new Promise((resolve, reject) => {
    log.on("line", (line) => {
      if (/ready to accept connections|Sentinel ID is/i.test(line)) resolve(server);
    });
    server.once("error", () => reject(new Error(missingServer)));
    server.once("exit", () => reject(new Error(`redis-server ended:\n${lines.join("\n")}`)));
  });
}

/** In production Redis has a machine of its own; here it must not starve beside a test's many processes. */
function prefer({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, -10);
  } catch {
    // That takes root.
  }
}
