import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import { expect, onTestFinished } from "vitest";
import { aclLine } from "./acl.ts";
import { freePort } from "./free-port.ts";
import { searchRedis } from "./leaks/search-redis.ts";

/** The one line to type. */
export const missingServer =
  "The tests need redis-server. Type: apt-get install redis-server   (or: brew install redis)";

export interface RedisOptions {
  /** Further arguments of redis-server, e.g. `--maxmemory`, `2mb`. */
  readonly args?: readonly string[];
  /** Runs it as a Sentinel, by these lines of its configuration. */
  readonly sentinel?: readonly string[];
  /** In its own folder, in place of a port. */
  readonly isOnUnixSocket?: boolean;
}

/** A redis-server process with an owner: it can be stopped, killed and started again on its port. */
export interface RealRedis {
  readonly port: number;
  /** `redis://127.0.0.1:port`, or `unix:` and a path */
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
const folders = new Set<string>();
process.on("exit", () => {
  for (const server of living) server.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Starts one that the caller ends; it does not outlive this process, however that ends. */
export async function openRedis({
  args = [],
  sentinel,
  isOnUnixSocket = false,
}: RedisOptions = {}): Promise<RealRedis> {
  expectDeclared();
  const folder = mkdtempSync(join(tmpdir(), "countersign-redis-"));
  const port = isOnUnixSocket ? 0 : await freePort();
  const path = join(folder, "redis.sock");
  const persistence = ["--save", "", "--appendonly", "no"];
  const file = join(folder, "redis.conf");
  writeFileSync(file, (sentinel ?? [aclLine]).join("\n"));
  const role = sentinel === undefined ? persistence : ["--sentinel"];
  const socket = isOnUnixSocket ? ["--unixsocket", path, "--unixsocketperm", "700"] : [];
  const place = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...socket];
  const start = () => startServer([file, ...place, ...role, ...args]);
  folders.add(folder);
  let server = await start();
  const at = isOnUnixSocket ? { path } : { port };
  const admin = new Redis({ ...at, lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => 50 });
  admin.on("error", () => {});
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill("SIGKILL");
    await once(server, "exit");
  };
  return {
    port,
    url: isOnUnixSocket ? `unix:${path}` : `redis://127.0.0.1:${port}`,
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
      rmSync(folder, { recursive: true, force: true });
      folders.delete(folder);
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
