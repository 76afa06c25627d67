import { type ConfiguredSet, ownersOf } from "../../app/token-owners.ts";
import { openUpstreams } from "../../app/upstreams.ts";
import type { Config } from "../../config/config.ts";
import { describeBind } from "../../model/bind.ts";
import type { Check } from "./check.ts";
import { examineConfiguration } from "./examine-configuration.ts";
import { examineEnvironment, type SharedSet } from "./examine-environment.ts";
import { examineRedis, examineSeals } from "./examine-redis.ts";
import { examineServe } from "./examine-serve.ts";
import { type Run, timed } from "./run.ts";
import { openTokenShelf } from "./token-shelf.ts";

/**
 * Everything that can keep a request from being served, in the order in which one thing rests on another. Redis is asked
 * first, while nothing disturbs its measurement, and told of after the environments, which are examined all at once.
 */
export async function* examine(visit: Run): AsyncGenerator<Check> {
  const { config, clock } = visit;
  const { tokens } = config;
  yield* examineConfiguration(visit);
  const placed = placedSets(config);
  const keys = placed.map(({ tokenKey }) => tokenKey);
  const redis = tokens.cache === "redis" ? await examineRedis(tokens.redis, keys, visit) : [];
  const shelf = await openTokenShelf(visit);
  const upstreams = openUpstreams(clock);
  upstreams.prepare(config);
  try {
    const sets: SharedSet[] = [];
    for (const each of placed) sets.push({ ...each, shared: await shelf.read(each.tokenKey) });
    const reports = [...config.environments.values()].map((environment) => {
      const own = sets.filter((set) => set.environment === environment);
      return examineEnvironment(environment, own, { shelf, postFormOf: upstreams.postFormOf }, visit);
    });
    for (const report of await Promise.all(reports)) yield* report;
    yield* redis;
    if (tokens.cache === "redis") yield examineSeals(sets.map(({ shared }) => shared));
    const about = { topic: "serve" as const, subject: `admin ${describeBind(config.admin)}` };
    yield timed(visit, about, () => examineServe(visit));
  } finally {
    await shelf.close();
    await upstreams.close();
  }
}

/** Each once, however many sites share it. */
function placedSets(config: Config): ConfiguredSet[] {
  const all = ownersOf(config).flatMap(({ sets }) => sets);
  return [...new Map(all.map((placed) => [placed.tokenKey, placed])).values()];
}
