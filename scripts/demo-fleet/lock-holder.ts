import { Refusal } from "./refusal.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

/** The newcomer's name. */
const successor = "e";
/** Longer than the holder lives. */
const slowAnswerMs = 30_000;

/** Finds who holds the lock, takes it out of the load, kills it, and puts a new process in its place. */
export async function killTheHolder(stage: Stage): Promise<void> {
  const { screen, load, service } = stage;
  const holder = await catchTheHolder(stage);
  screen.happened(
    `${holder} holds the lock (its log says so), and its token request hangs at the authorization server`,
  );
  await load.remove(holder);
  const from = stage.log.length;
  await stage.fleet.remove(holder).process.end("SIGKILL");
  const killedMs = performance.now();
  screen.happened(`${holder} killed (SIGKILL); it had been taken out of the load, and had answered all its requests`);
  await until(stage, "waiting until another replica has the lock", () => acquiredSince(stage, from) !== undefined);
  const next = acquiredSince(stage, from);
  if (next !== undefined) {
    screen.happened(`${next.replica} had the lock ${((next.atMs - killedMs) / 1_000).toFixed(1)} s after the kill`);
  }
  await until(stage, "waiting until all replicas use the new token", () => service.isNewestInUse());
  await replaceIt(stage, holder);
}

async function catchTheHolder(stage: Stage): Promise<string> {
  const { service } = stage;
  const from = stage.log.length;
  const before = service.tokenRequests;
  service.delayNextToken(slowAnswerMs);
  stage.screen.happened("the authorization server will not answer the next token request for 30 s");
  await until(
    stage,
    "waiting for the token to become due",
    () => service.tokenRequests > before && acquiredSince(stage, from) !== undefined,
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
  await stage.fleet.start(successor);
  await until(stage, `waiting until ${successor} has a token`, () =>
    stage.log.some(({ replica, line }) => replica === successor && line.event === "token_adopted"),
  );
  stage.screen.happened(`${successor} has been started in the place of ${holder}`);
  stage.serve(successor);
}
