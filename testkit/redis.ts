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

/** The command that provides a server. */
const missingServer = "The tests need redis-server. Type: apt-get install redis-server   (or: brew install redis)";

export interface RedisOptions {
  /** Further arguments of redis-server, e.g. `--maxmemory`, `2mb`. */
  readonly args?: readonly string[];
  /** Runs the server as a Sentinel, with these lines in its configuration. */
  readonly sentinel?: readonly string[];
}

/** A Redis on a port of this machine: a process, or a container. */
export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  /** Sends a command of the test itself, as the default user. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>;
  config(name: string, value: string | number): Promise<void>;
  /** Searches what the server holds for secrets, and ends it. */
  end(): Promise<void>;
}

/** A redis-server process that the test controls: it can be stopped, killed and started again on its port. */
export interface RealRedis extends RedisServer {
  readonly pid: () => number;
  /** SIGSTOP, and back with SIGCONT. */
  stop(): void;
  cont(): void;
  /** SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>;
  /** Starts the server again on the same port, empty. */
  restart(): Promise<void>;
}

/** Starts a server for a test; ends with the test. */
export async function startRedis(options: RedisOptions = {}): Promise<RealRedis> {
  const redis = await openRedis(options);
  onTestFinished(() => redis.end());
  return redis;
}

/** Processes that would outlive this process. */
const living = new Set<ChildProcess>();
process.on("exit", () => {
  for (const server of living) server.kill("SIGKILL");
});

/** Starts a server that its caller ends; the server does not outlive this process, however this process ends. */
export async function openRedis(options: RedisOptions = {}): Promise<RealRedis> {
  expectDeclared();
  const folder = new ConfigWriter("redis");
  const port = await freePort();
  folder.write("redis.conf", configurationOf(options));
  const start = () => startServer(argumentsOf(options, port, folder.path));
  let server = await start();
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  const { end, ...reached } = reach(port, async () => {
    await kill();
    folder.remove();
  });
  return {
    ...reached,
    pid: () => server.pid ?? 0,
    stop: () => void server.kill("SIGSTOP"),
    cont: () => void server.kill("SIGCONT"),
    kill,
    async restart() {
      await kill();
      server = await start();
    },
    end: () => end(server.exitCode === null && server.signalCode === null),
  };
}

/** The text of a server's redis.conf. */
export function configurationOf({ sentinel = [aclLine] }: RedisOptions): string {
  return sentinel.join("\n");
}

/** The arguments of redis-server, whose redis.conf is in the folder. */
export function argumentsOf({ args = [], sentinel }: RedisOptions, port: number, folder: string): string[] {
  const role = sentinel === undefined ? ["--save", "", "--appendonly", "no"] : ["--sentinel"];
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  return [`${folder}/redis.conf`, ...place, ...role, ...args];
}

/** A line of the server's log: from now on it accepts connections. */
export const isReady = /ready to accept connections|Sentinel ID is/i;

/** What a test does with a server, however it was started. */
export function reach(port: number, remove: () => Promise<void>) {
  const admin = new Redis({ port, lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => 50 });
  admin.on("error", () => {});
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: (name: string, ...given: (string | number)[]) => admin.call(name, ...given),
    async config(name: string, value: string | number) {
      await admin.config("SET", name, String(value));
    },
    async end(isRunning = true) {
      if (isRunning) await searchRedis(admin);
      admin.disconnect();
      await remove();
    },
  };
}

/**
 * Without redis-server, test files are left out by their paths (vitest.config.ts): any other file would fail there.
 * @throws Error if the path of the running test file does not say that it needs a Redis
 */
export function expectDeclared(): void {
  const file = runningTestFile();
  if (file === undefined || /[./]redis[./]/.test(relative(process.cwd(), file))) return;
  throw new Error(`${basename(file)} asks for a Redis: rename it to ${basename(file, ".test.ts")}.redis.test.ts`);
}

/** Undefined in scripts, benchmarks and the global set-up, which do not run in a worker of Vitest. */
function runningTestFile(): string | undefined {
  try {
    return expect.getState().testPath;
  } catch {
    return undefined;
  }
}

/** Resolves when the server accepts connections. */
async function startServer(args: readonly string[]): Promise<ChildProcess> {
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "pipe"] });
  living.add(server);
  server.once("exit", () => living.delete(server));
  prefer(server);
  const lines: string[] = [];
  const log = createInterface({ input: server.stdout }).on("line", (line) => lines.push(line));
  return new Promise((resolve, reject) => {
    log.on("line", (line) => {
      if (isReady.test(line)) resolve(server);
    });
    server.once("error", () => reject(new Error(missingServer)));
    server.once("exit", () => reject(new Error(`redis-server ended:\n${lines.join("\n")}`)));
  });
}

/** Raises the server's priority: in production Redis has its own machine; here a test's many processes must not starve it. */
function prefer({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, -10);
  } catch {
    // Only root may raise a priority.
  }
}
