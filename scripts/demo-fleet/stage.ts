import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Simulator } from "../../simulator/src/service/simulator.ts";
import type { RefreshReason } from "../../src/model/events.ts";
import { Load } from "../../testkit/load.ts";
import type { RealRedis } from "../../testkit/redis.ts";
import { type LogLine, oauthSite, openShared, Replicas, simulatedSites } from "../../testkit/replicas.ts";
import { labelOf, sendOrder } from "../../testkit/send-order.ts";
import type { Screen } from "../screen.ts";
import { Account, formatNumber, type ServiceCounts } from "./account.ts";
import type { Options } from "./options.ts";

/** Why the demo cannot be given or cannot go on, in a sentence for the person who started it. */
export class Refusal extends Error {}

/** What a replica has logged. */
export interface Logged {
  readonly replica: string;
  readonly line: LogLine;
  readonly atMs: number;
}

/** Everything the story needs: real processes, the service, the callers, and what they have said so far. */
export interface Stage {
  readonly options: Options;
  readonly screen: Screen;
  readonly account: Account;
  readonly simulator: Simulator;
  readonly redis: RealRedis;
  readonly redisVersion: string;
  readonly replicas: Replicas;
  readonly load: Load;
  /** In the order of arrival. */
  readonly log: readonly Logged[];
  close(): Promise<void>;
}

const mostAtOnce = 10;
/** More failures are counted, but not told one by one. */
const mostFailuresTold = 5;
const latelyMs = 500;
/** Fewer requests say nothing. */
const enoughRequests = 8;

/** @throws Refusal when something needed is missing */
export async function openStage(options: Options, screen: Screen): Promise<Stage> {
  const redisVersion = readRedisVersion();
  const shared = await openShared({
    name: "fleet",
    sites: simulatedSites.filter(({ identifier }) => identifier === oauthSite),
    tokenLifetimeSeconds: options.tokenLifetimeSeconds,
    // No other program can reach it there, and no port can be lost while it is away.
    redis: { isOnUnixSocket: true },
  });
  const { simulator, redis } = shared;
  const account = new Account();
  const { log, onLine } = listenToLogs(account, screen);
  const replicas = new Replicas(shared, { onLine });
  let orders = 0;
  const load = new Load({
    mostAtOnce,
    async order({ replica, pool }) {
      orders += 1;
      const startedMs = performance.now();
      const { told } = await sendOrder(pool, { reference: `demo-${orders}`, site: oauthSite });
      const failure = labelOf(told);
      account.add({ kind: "answered", durationMs: performance.now() - startedMs, failure });
      if (failure === undefined || account.all.failed > mostFailuresTold) return;
      screen.happened(`a request through ${replica} failed: ${failure}`);
    },
  });
  const close = async () => {
    replicas.clear();
    await load.close();
    await shared.close();
  };
  return { options, screen, account, simulator, redis, redisVersion, replicas, load, log, close };
}

/** @throws Refusal with what the process said, when it does not start */
export async function start({ replicas }: Stage, name: string): Promise<void> {
  await replicas.start(name).catch((error: Error) => {
    throw new Refusal(`Replica ${name}: ${error.message}`);
  });
}

/** From here on the replica gets its share of the load. */
export function serve({ replicas, screen, load }: Stage, name: string): void {
  const { url, process } = replicas.find(name);
  screen.happened(`${name} is process ${process.pid}, at ${url}`);
  load.add(name, url);
}

/** @param sinceMs `tokensInUse` looks at requests that arrived later (wall clock) */
export function countService({ simulator }: Stage, sinceMs: number): ServiceCounts {
  const { unauthorized, tokensIssued } = simulator.counts();
  return { unauthorized, tokensIssued, tokensInUse: new Set(tokensSince(simulator, sinceMs)).size };
}

/** Whether everything that arrived lately carried the newest token. */
export function isNewestInUse({ simulator }: Stage): boolean {
  const newest = simulator.seen.tokenRequests.at(-1)?.token;
  const tokens = tokensSince(simulator, Date.now() - latelyMs);
  return tokens.length >= enoughRequests && tokens.every((token) => token === newest);
}

function tokensSince({ seen }: Simulator, sinceMs: number) {
  return seen.apiRequests.filter(({ receivedAtMs }) => receivedAtMs > sinceMs).map(({ token }) => token);
}

const inWords: Readonly<Record<RefreshReason, string>> = {
  start: "start (it has none yet)",
  missing: "missing (it has none)",
  due: "due (80 % used up)",
  expired: "expired (near its end)",
  unauthorized: "unauthorized (a 401)",
  redis_recovered: "redis_recovered",
  reload: "reload (its place in the configuration changed)",
};

/** Keeps what replicas log, counts it, and tells what is worth a line. */
function listenToLogs(account: Account, screen: Screen) {
  const log: Logged[] = [];
  const lockOf = new Map<string, string>();
  const onLine = (replica: string, line: LogLine) => {
    if (line.event === "request_finished") return;
    log.push({ replica, line, atMs: performance.now() });
    account.add({ kind: "logged", replica, line });
    if (line.event === "refresh_lock_tried") lockOf.set(replica, line.result);
    if (line.event === "redis_failed") screen.happened(`${replica} got no answer from Redis: ${line.failure}`);
    if (line.event !== "token_requested") return;
    const without = lockOf.get(replica) === "acquired" ? "" : " without a lock";
    screen.happened(`${replica} asked for a token${without}, ${line.result}; why: ${inWords[line.reason]}`);
  };
  return { log, onLine };
}

function readRedisVersion(): string {
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

const lookEveryMs = 20;
/** Nothing in the story takes nearly as long as the life of a token and this. */
const patienceMs = 30_000;

/**
 * Waits, and says on a terminal what for.
 * @throws Refusal when it does not happen
 */
export async function until(stage: Stage, what: string, hasHappened: () => boolean): Promise<void> {
  const { screen, account, options } = stage;
  const sinceMs = performance.now();
  const longestMs = options.tokenLifetimeSeconds * 1_000 + patienceMs;
  while (!hasHappened()) {
    const [accident] = stage.replicas.accidents;
    if (accident !== undefined) throw new Refusal(accident);
    const waitedMs = performance.now() - sinceMs;
    if (waitedMs > longestMs) {
      throw new Refusal(`waited ${Math.round(waitedMs / 1_000)} s in vain: ${what}`);
    }
    const { requests, failed } = account.all;
    const seconds = Math.floor(waitedMs / 1_000);
    screen.status(`${formatNumber(requests)} requests, ${formatNumber(failed)} failed … ${what} (${seconds} s)`);
    await sleep(lookEveryMs);
  }
  screen.status("");
}

/** Lets the load go on until each replica has answered some more of it. */
export async function letAllServe(stage: Stage): Promise<void> {
  const before = stage.load.answered();
  const sinceMs = performance.now();
  await until(stage, "each replica serves some more", () => {
    const isServing = [...stage.load.answered()].every(([replica, count]) => count >= (before.get(replica) ?? 0) + 10);
    return isServing && performance.now() - sinceMs >= 1_000;
  });
}
