import { randomBytes } from "node:crypto";
import type { Clock } from "../../model/clock.ts";
import type { RedisClient } from "./client.ts";
import { kindOf, RedisFailure } from "./failure.ts";
import { readServerFacts, type ServerFacts } from "./server-facts.ts";
import { type RedisTrouble, troubleOf } from "./trouble.ts";
import { type TriedCommand, tryCommands } from "./try-commands.ts";

/** What a visit to Redis brought. */
export type RedisProbe =
  /** No connection, no login, or no answer. */
  | { readonly kind: "refused"; readonly trouble: RedisTrouble }
  | {
      readonly kind: "answered";
      /** What the greeting met with although it did connect, such as a database that may not be chosen. */
      readonly objection: RedisTrouble | undefined;
      /** At least one. */
      readonly roundTripsMs: readonly number[];
      readonly tried: readonly TriedCommand[];
      readonly facts: ServerFacts | undefined;
    };

const longestConnectMs = 3_000;
const roundTrips = 20;

/**
 * Does once all that Countersign does with Redis, on keys of its own: connects, measures, tries each command, and asks the
 * server about itself. Never fails, and ends the client.
 * @param tags where to put the keys, `countersign:{<tag>}:probe-…`: in a Cluster each may be on another node
 */
export async function probeRedis(client: RedisClient, tags: readonly string[], clock: Clock): Promise<RedisProbe> {
  const heard: RedisTrouble[] = [];
  const hear = (error: unknown) => void heard.push(troubleOf(error));
  // A Cluster says at each node what was wrong there, and then only that no node was left.
  client.on("node error", hear).on("error", hear);
  try {
    const refusal = await connect(client, heard, clock);
    if (refusal !== undefined) return { kind: "refused", trouble: refusal };
    const objection = heard[0];
    const keys = tags.map((tag) => `countersign:{${tag}}:probe-${randomBytes(8).toString("hex")}`);
    const { tookMs, lost } = await measure(client, keys[0] ?? "countersign:probe", clock);
    if (lost !== undefined && tookMs.length === 0) return { kind: "refused", trouble: lost };
    const tried = await tryCommands(client, keys);
    return { kind: "answered", objection, roundTripsMs: tookMs, tried, facts: await readServerFacts(client) };
  } finally {
    client.disconnect();
  }
}

/** The first thing that goes wrong is the reason: from then on the client only tries again. */
function connect(client: RedisClient, heard: readonly RedisTrouble[], clock: Clock): Promise<RedisTrouble | undefined> {
  return new Promise((resolve) => {
    const explain = (error: unknown) => resolve(heard[0] ?? troubleOf(error));
    const cancel = clock.after(longestConnectMs, () => explain(new RedisFailure("timeout")));
    client
      .connect()
      .then(() => resolve(undefined), explain)
      .finally(cancel);
  });
}

/** A read is what Countersign does most. An error is an answer too; one that does not come ends the series. */
async function measure(
  client: RedisClient,
  key: string,
  clock: Clock,
): Promise<{ tookMs: readonly number[]; lost?: RedisTrouble }> {
  const tookMs: number[] = [];
  while (tookMs.length < roundTrips) {
    const sinceMs = clock.nowMs();
    const error = await client.get(key).then(
      () => undefined,
      (error: unknown) => error,
    );
    const kind = error === undefined ? undefined : kindOf(error);
    if (kind === "timeout" || kind === "connection") return { tookMs, lost: troubleOf(error) };
    tookMs.push(clock.nowMs() - sinceMs);
  }
  return { tookMs };
}
