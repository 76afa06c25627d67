import type { Promised } from "./judge.ts";
import { killTheHolder } from "./lock-holder.ts";
import type { Options } from "./options.ts";
import {
  awaitNewTokens,
  bringRedisBack,
  chooseLoadSeconds,
  firstReplicas,
  killRedis,
  revokeAll,
  startAll,
  startLoad,
} from "./plays.ts";
import type { Stage } from "./stage.ts";

export interface Chapter {
  readonly title: string;
  /** What is done, and what a reader should watch. */
  readonly introduction: string;
  readonly promised: Promised;
  play(stage: Stage): Promise<void>;
}

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
