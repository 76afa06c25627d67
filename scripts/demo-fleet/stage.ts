import type { Load } from "../../testkit/load.ts";
import { Children } from "../../testkit/processes.ts";
import { Account } from "./account.ts";
import { createEars, type Logged } from "./ears.ts";
import { createFolder } from "./folder.ts";
import { createLoad } from "./load.ts";
import type { Options } from "./options.ts";
import { type RedisServer, startRedis } from "./redis.ts";
import { Fleet } from "./replica.ts";
import type { Screen } from "./screen.ts";
import { type Service, startService } from "./service.ts";

/** Everything the story needs: real processes, the service, the callers, and what they have said so far. */
export interface Stage {
  readonly options: Options;
  readonly screen: Screen;
  readonly account: Account;
  readonly service: Service;
  readonly redis: RedisServer;
  readonly fleet: Fleet;
  readonly load: Load;
  readonly log: readonly Logged[];
  /** From here on the replica gets its share of the load. */
  serve(name: string): void;
  close(): Promise<void>;
}

/** @throws Refusal when something needed is missing */
export async function openStage(options: Options, screen: Screen): Promise<Stage> {
  const children = new Children();
  const folder = createFolder();
  const redis = await startRedis();
  const service = await startService(options.tokenLifetimeSeconds);
  const account = new Account();
  const { log, onLine, onAnswered } = createEars(account, screen);
  const places = { baseUrl: service.apiUrl, authUrl: service.loginUrl, redisUrl: redis.url };
  const fleet = new Fleet({ children, folder, places, onLine });
  const load = createLoad(onAnswered);
  const serve = (name: string) => {
    const { url, process } = fleet.find(name);
    screen.happened(`${name} is process ${process.pid}, at ${url}`);
    load.add(name, url);
  };
  const close = async () => {
    fleet.clear();
    await load.close();
    await children.endAll();
    await Promise.all([service.stop(), redis.end()]);
    folder.remove();
  };
  return { options, screen, account, service, redis, fleet, load, log, serve, close };
}
