import type { RedisAccess } from "../../src/model/redis-access.ts";
import { type CallOptions, call, order } from "../call.ts";
import { type RawBehaviour, rawAnswer, startRawUpstream } from "../raw-upstream.ts";
import type { RealRedis } from "../redis.ts";
import { accessTo, nodeAt, patientClock } from "../redis-replica.ts";
import { hmacSite } from "../simulated-sites.ts";
import { type Stage, type StageOptions, startStage } from "./start.ts";

export const accepted = rawAnswer(200, '{"order":"1"}');

/**
 * Claims in a Redis, before a service whose bytes the test writes. By default Countersign signs, and has a patient clock, so that
 * no command fails because the machine stalls for a moment.
 */
export async function once(
  redis: Pick<RealRedis, "port">,
  answer: RawBehaviour["answer"] = (_, socket) => void socket.write(accepted),
  options: StageOptions = {},
) {
  const upstream = await startRawUpstream({ answer });
  const { environment, config, ...more } = options;
  const staged = await startStage({
    baseUrl: `${upstream.url}/json-api`,
    environment: { defaultSite: hmacSite, ...environment },
    surroundings: { clock: patientClock },
    config: { tokens: { cache: "redis", redis: accessTo(nodeAt(redis.port)) }, ...config },
    ...more,
  });
  let calls = 0;
  return {
    ...staged,
    upstream,
    /** An order with this key. */
    once(key: string, { body = order as unknown, headers = {} as CallOptions["headers"] } = {}) {
      calls += 1;
      return call(staged.url, body, { headers: { "Countersign-Once": key, ...headers } });
    },
    /** The event of the last request's end. */
    lastEnd: () => staged.recorder.nth("request_finished", calls),
  };
}

/**
 * A replica that keeps its tokens in a real Redis.
 * @param access changes to the access of the user with the fewest privileges
 * @param shared a stage whose simulator is used, as by another replica
 */
export async function replica(
  port: number,
  access: Partial<RedisAccess> = {},
  shared?: Stage,
  options: StageOptions = {},
): Promise<Stage> {
  const staged = await startStage({
    oneSet: true,
    config: { tokens: { cache: "redis", redis: accessTo(nodeAt(port), access) } },
    ...(shared && { baseUrl: shared.simulator.apiUrl, authUrl: shared.simulator.loginUrl }),
    ...options,
  });
  await staged.recorder.nth("token_adopted", 1);
  return staged;
}

/** The values in Redis for keys of Countersign-Once, by name. */
export async function keysIn(redis: { command: RealRedis["command"] }): Promise<ReadonlyMap<string, string>> {
  const names = (await redis.command("KEYS", "countersign:*:once")) as string[];
  return new Map(
    await Promise.all(names.map(async (name) => [name, String(await redis.command("GET", name))] as const)),
  );
}
