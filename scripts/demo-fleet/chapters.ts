import { formatCount } from "../../simulator/src/demo/layout.ts";
import { formatNumber, type Promised } from "./account.ts";
import type { Options } from "./options.ts";
import {
  countService,
  isNewestInUse,
  type Logged,
  letAllServe,
  Refusal,
  type Stage,
  serve,
  start,
  until,
} from "./stage.ts";

export interface Chapter {
  readonly title: string;
  /** What is done, and what a reader should watch. */
  readonly introduction: string;
  readonly promised: Promised;
  play(stage: Stage): Promise<void>;
}

const firstReplicas = ["a", "b", "c", "d"];
/** Takes the place of the one that is killed. */
const successor = "e";
const requestsPerSecond = 100;
/** Longer than the lock holder lives. */
const slowAnswerMs = 30_000;
/** A token is due after this share of its life at the latest (docs: 80 to 88 %). */
const latestDueShare = 0.88;

export function createChapters({ seconds, tokenLifetimeSeconds }: Options): Chapter[] {
  const lives = Math.max(1, Math.ceil(seconds / (latestDueShare * tokenLifetimeSeconds)));
  return [
    {
      title: "Four replicas start at the same moment",
      introduction: "Each of them needs a token. One asks the authorization server, the others read it from Redis.",
      promised: { tokens: 1, reasons: ["start"], unauthorized: false, inUse: 1 },
      play: startAll,
    },
    {
      title: `Load: 100 requests a second over all four, for ${chooseLoadSeconds(tokenLifetimeSeconds)} s`,
      introduction: "The token is still good, so no replica asks for another.",
      promised: { tokens: 0, reasons: [], unauthorized: false, inUse: 1 },
      play: startLoad,
    },
    {
      title: lives === 1 ? "The token becomes due" : `The token becomes due, ${lives} times`,
      introduction:
        "After 80 to 88 % of its life one replica fetches the next in the background, and the others take it from Redis. " +
        "No request waits for it: see the slowest answer.",
      promised: { tokens: lives, reasons: ["due"], unauthorized: false, inUse: 1 },
      play: (stage) => awaitNewTokens(stage, lives, "waiting for the token to become due"),
    },
    {
      title: "All tokens are revoked",
      introduction:
        "The service answers 401 to everything. One replica fetches a new token for all, and each refused request is " +
        "sent once more with it: its caller sees no 401.",
      promised: { tokens: 1, reasons: ["unauthorized"], unauthorized: true, inUse: 1 },
      play: revokeAll,
    },
    {
      title: "Redis is killed under load",
      introduction:
        "Each replica goes on with the token that it knows. When that becomes due none can be shared, so each fetches " +
        "one of its own.",
      promised: {
        tokens: firstReplicas.length,
        reasons: ["due", "expired", "missing"],
        forEach: firstReplicas,
        unauthorized: false,
        inUse: firstReplicas.length,
      },
      play: killRedis,
    },
    {
      title: "Redis is back, empty",
      introduction:
        "That costs no token. When the newest of the four becomes due, one replica fetches the next, and it is again " +
        "the only one for all.",
      promised: { tokens: 1, reasons: ["due"], unauthorized: false, inUse: 1 },
      play: bringRedisBack,
    },
    {
      title: "The lock holder is killed in the middle of a refresh",
      introduction:
        "The authorization server is slow for one request, so that the replica that refreshes, and holds the lock, can be caught. " +
        "Its lock runs out 4 s after it was last renewed, then another replica fetches a token. With lives as short as " +
        "here the old token comes to its end meanwhile, and requests wait: see the slowest answer. The service issues " +
        "two tokens: one is lost with the dead replica.",
      promised: { tokens: 2, lost: 1, reasons: ["due", "expired", "missing"], unauthorized: false, inUse: 1 },
      play: killTheHolder,
    },
  ];
}

/** How long the load of the second chapter lasts: well within the life of the first token. */
function chooseLoadSeconds(tokenLifetimeSeconds: number): number {
  return Math.min(5, Math.floor(tokenLifetimeSeconds / 3));
}

async function startAll(stage: Stage): Promise<void> {
  await Promise.all(firstReplicas.map((name) => start(stage, name)));
  await until(stage, "waiting until all four have a token", () => {
    const adopted = stage.log.filter(({ line }) => line.event === "token_adopted");
    return firstReplicas.every((name) => adopted.some(({ replica }) => replica === name));
  });
  for (const name of firstReplicas) serve(stage, name);
  await stage.load.orderOnce();
  stage.screen.happened("one order through each, to see which token it carries");
}

async function startLoad(stage: Stage): Promise<void> {
  stage.load.start(requestsPerSecond);
  stage.screen.happened("the load begins; it goes on until the end of the story");
  const sinceMs = performance.now();
  const loadMs = chooseLoadSeconds(stage.options.tokenLifetimeSeconds) * 1_000;
  await until(stage, "load", () => performance.now() - sinceMs >= loadMs);
}

/** Waits for so many new tokens, each until every replica uses it. */
async function awaitNewTokens(stage: Stage, tokens: number, what: string): Promise<void> {
  const { simulator, account } = stage;
  const before = account.all.tokensIssued;
  for (let wanted = before + 1; wanted <= before + tokens; wanted++) {
    await until(stage, what, () => simulator.counts().tokensIssued >= wanted && isNewestInUse(stage));
  }
}

async function revokeAll(stage: Stage): Promise<void> {
  stage.simulator.revokeAllTokens();
  stage.screen.happened("all tokens revoked");
  await awaitNewTokens(stage, 1, "waiting until all replicas use a new token");
}

async function killRedis(stage: Stage): Promise<void> {
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

async function bringRedisBack(stage: Stage): Promise<void> {
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
  const { tokensInUse } = countService(stage, sinceMs);
  const requests = stage.account.all.requests - before;
  stage.screen.happened(`the next ${requests} requests: ${formatCount(tokensInUse, "token")} in use by all replicas`);
}

async function untilAllSay(stage: Stage, from: number, event: Logged["line"]["event"], what: string): Promise<void> {
  const sinceMs = performance.now();
  const said = () => stage.log.slice(from).filter(({ line }) => line.event === event);
  await until(stage, `waiting until all replicas say ${what}`, () => {
    const names = new Set(said().map(({ replica }) => replica));
    return stage.replicas.names.every((name) => names.has(name));
  });
  const lastMs = Math.max(...said().map(({ atMs }) => atMs));
  const tookMs = Math.ceil(Math.max(0, lastMs - sinceMs));
  stage.screen.happened(`all four replicas say ${what}, the last one ${formatNumber(tookMs)} ms later`);
}

/** Finds who holds the lock, takes it out of the load, kills it, and puts a new process in its place. */
async function killTheHolder(stage: Stage): Promise<void> {
  const { screen, load } = stage;
  const holder = await catchTheHolder(stage);
  screen.happened(
    `${holder} holds the lock (its log says so), and its token request hangs at the authorization server`,
  );
  await load.remove(holder);
  const from = stage.log.length;
  await stage.replicas.remove(holder).process.end("SIGKILL");
  const killedMs = performance.now();
  screen.happened(`${holder} killed (SIGKILL); it had been taken out of the load, and had answered all its requests`);
  await until(stage, "waiting until another replica has the lock", () => acquiredSince(stage, from) !== undefined);
  const next = acquiredSince(stage, from);
  if (next !== undefined) {
    screen.happened(`${next.replica} had the lock ${((next.atMs - killedMs) / 1_000).toFixed(1)} s after the kill`);
  }
  await until(stage, "waiting until all replicas use the new token", () => isNewestInUse(stage));
  await replaceIt(stage, holder);
}

async function catchTheHolder(stage: Stage): Promise<string> {
  const { simulator } = stage;
  const from = stage.log.length;
  const before = simulator.counts().tokenRequests;
  simulator.faults.add({ host: "login", kind: "delay", delayMs: slowAnswerMs });
  stage.screen.happened("the authorization server will not answer the next token request for 30 s");
  await until(
    stage,
    "waiting for the token to become due",
    () => simulator.counts().tokenRequests > before && acquiredSince(stage, from) !== undefined,
  );
  const holder = acquiredSince(stage, from)?.replica;
  if (holder === undefined) throw new Refusal("no replica holds the lock");
  return holder;
}

/** The latest to say that it has the lock. */
function acquiredSince({ log }: Stage, from: number) {
  return log.slice(from).findLast(({ line }) => line.event === "refresh_lock_tried" && line.result === "acquired");
}

async function replaceIt(stage: Stage, holder: string): Promise<void> {
  await start(stage, successor);
  await until(stage, `waiting until ${successor} has a token`, () =>
    stage.log.some(({ replica, line }) => replica === successor && line.event === "token_adopted"),
  );
  stage.screen.happened(`${successor} has been started in the place of ${holder}`);
  serve(stage, successor);
}
