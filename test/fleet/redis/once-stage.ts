import { type CallOptions, call, order } from "../../../testkit/call.ts";
import { type RawBehaviour, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt, patientClock } from "../../../testkit/redis-replica.ts";
import { hmacSite, type StageOptions, stageProxy } from "../../../testkit/stage.ts";

export const accepted = rawAnswer(200, '{"order":"1"}');

/**
 * The proxy in this process, over a Redis, before a service whose bytes the test writes. By default it signs, and has
 * a patient clock, so that no command fails because the machine stalls for a moment.
 */
export async function stageOnce(
  redis: Pick<RealRedis, "port">,
  answer: RawBehaviour["answer"] = (_, socket) => void socket.write(accepted),
  options: StageOptions = {},
) {
  const upstream = await startRawUpstream({ answer });
  const { environment, config, ...more } = options;
  const stage = await stageProxy({
    baseUrl: `${upstream.url}/json-api`,
    environment: { defaultSite: hmacSite, ...environment },
    surroundings: { clock: patientClock },
    config: { tokens: { cache: "redis", redis: accessTo(nodeAt(redis.port)) }, ...config },
    ...more,
  });
  let calls = 0;
  return {
    ...stage,
    upstream,
    /** An order with this key. */
    once(key: string, { body = order as unknown, headers = {} as CallOptions["headers"] } = {}) {
      calls += 1;
      return call(stage.url, body, { headers: { "Countersign-Once": key, ...headers } });
    },
    /** The event of the last request's end. */
    lastEnd: () => stage.recorder.nth("request_finished", calls),
  };
}

/** The values in Redis for keys of Countersign-Once, by name. */
export async function keysIn(redis: { command: RealRedis["command"] }): Promise<ReadonlyMap<string, string>> {
  const names = (await redis.command("KEYS", "countersign:*:once")) as string[];
  return new Map(
    await Promise.all(names.map(async (name) => [name, String(await redis.command("GET", name))] as const)),
  );
}
