import { formatCount } from "../../simulator/src/demo/layout.ts";
import type { Logged } from "./ears.ts";
import { formatNumber } from "./judge.ts";
import { requestsPerSecond } from "./load.ts";
import type { Stage } from "./stage.ts";
import { letAllServe, until } from "./until.ts";

// What is done in each chapter. What is promised of it is in chapters.ts.

export const firstReplicas = ["a", "b", "c", "d"];

/** How long the load of the second chapter lasts: well within the life of the first token. */
export function chooseLoadSeconds(tokenLifetimeSeconds: number): number {
  return Math.min(5, Math.floor(tokenLifetimeSeconds / 3));
}

export async function startAll(stage: Stage): Promise<void> {
  await Promise.all(firstReplicas.map((name) => stage.fleet.start(name)));
  await until(stage, "waiting until all four have a token", () => {
    const adopted = stage.log.filter(({ line }) => line.event === "token_adopted");
    return firstReplicas.every((name) => adopted.some(({ replica }) => replica === name));
  });
  for (const name of firstReplicas) stage.serve(name);
  await stage.load.orderOnce();
  stage.screen.happened("one order through each, to see which token it carries");
}

export async function startLoad(stage: Stage): Promise<void> {
  stage.load.start(requestsPerSecond);
  stage.screen.happened("the load begins; it goes on until the end of the story");
  const sinceMs = performance.now();
  const loadMs = chooseLoadSeconds(stage.options.tokenLifetimeSeconds) * 1_000;
  await until(stage, "load", () => performance.now() - sinceMs >= loadMs);
}

/** Waits for so many new tokens, each until every replica uses it. */
export async function awaitNewTokens(stage: Stage, tokens: number, what: string): Promise<void> {
  const { service, account } = stage;
  const before = account.all.tokensIssued;
  for (let wanted = before + 1; wanted <= before + tokens; wanted++) {
    await until(stage, what, () => service.tokensIssued >= wanted && service.isNewestInUse());
  }
}

export async function revokeAll(stage: Stage): Promise<void> {
  stage.service.revokeAllTokens();
  stage.screen.happened("all tokens revoked");
  await awaitNewTokens(stage, 1, "waiting until all replicas use a new token");
}

export async function killRedis(stage: Stage): Promise<void> {
  const from = stage.log.length;
  await stage.redis.kill();
  stage.screen.happened("Redis killed (SIGKILL)");
  await untilAllSay(stage, from, "redis_down", "that Redis is away");
  await tellTokensInUse(stage);
  await until(stage, "waiting until each replica has a token of its own", () => {
    const askers = stage.account.here.issues.map(({ replica }) => replica);
    return firstReplicas.every((name) => askers.includes(name));
  });
}

export async function bringRedisBack(stage: Stage): Promise<void> {
  const from = stage.log.length;
  await stage.redis.restart();
  stage.screen.happened("Redis started again, at the same place");
  await untilAllSay(stage, from, "redis_up", "that Redis is back");
  await awaitNewTokens(stage, 1, "waiting for the newest token to become due");
}

async function tellTokensInUse(stage: Stage): Promise<void> {
  const sinceMs = Date.now();
  const before = stage.account.all.requests;
  await letAllServe(stage);
  const { tokensInUse } = stage.service.count(sinceMs);
  const requests = stage.account.all.requests - before;
  stage.screen.happened(`the next ${requests} requests: ${formatCount(tokensInUse, "token")} in use by all replicas`);
}

async function untilAllSay(stage: Stage, from: number, event: Logged["line"]["event"], what: string): Promise<void> {
  const sinceMs = performance.now();
  const said = () => stage.log.slice(from).filter(({ line }) => line.event === event);
  await until(stage, `waiting until all replicas say ${what}`, () => {
    const names = new Set(said().map(({ replica }) => replica));
    return stage.fleet.names.every((name) => names.has(name));
  });
  const lastMs = Math.max(...said().map(({ atMs }) => atMs));
  const tookMs = Math.ceil(Math.max(0, lastMs - sinceMs));
  stage.screen.happened(`all four replicas say ${what}, the last one ${formatNumber(tookMs)} ms later`);
}
