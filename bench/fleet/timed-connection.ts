import { Redis } from "ioredis";
import { createCacheClient, type RedisClient } from "../../src/adapters/redis/client.ts";
import { type ConnectionParts, RedisConnection, type Task } from "../../src/adapters/redis/connection.ts";
import { type Clock, systemClock } from "../../src/model/clock.ts";
import type { FleetRedis } from "./fleet-redis.ts";
import { replaceTime } from "./script-time.ts";
import type { Work } from "./work.ts";

interface Surroundings {
  readonly work: Work;
  readonly redis: FleetRedis;
}

/** The proxy's connection. The injected clock stands still while a command runs, and Redis's clock is set before it. */
export class TimedConnection extends RedisConnection {
  readonly #surroundings: Surroundings;
  readonly #clock: ConnectionParts["clock"];

  constructor(parts: ConnectionParts, surroundings: Surroundings) {
    super({ ...parts, clock: { ...systemClock, nowMs: () => parts.clock.nowMs(), after: afterInPatience } });
    this.#surroundings = surroundings;
    this.#clock = parts.clock;
  }

  override run<Value>(key: string, task: Task<Value>): Promise<Value> {
    return this.#surroundings.work.track(this.#runInTime(key, task));
  }

  async #runInTime<Value>(key: string, task: Task<Value>): Promise<Value> {
    await this.#surroundings.redis.setTime(this.#clock.wallMs());
    return super.run(key, task);
  }
}

/** On the machine's own clock: a thousand replicas in one process make each other wait. */
const patienceMs = 60_000;

/** Limits are lengthened, and pauses before another try shortened: these alone are between a half and a whole second. */
const afterInPatience: Clock["after"] = (delayMs, task) =>
  systemClock.after(delayMs > 500 && delayMs < 1_000 ? delayMs / 10 : patienceMs, task);

/**
 * The proxy's client. Its timeouts on the machine's clock are lengthened: here they would measure this process, not Redis.
 * @param count is called for every command that is sent, the greeting included
 */
export function createClient({ access }: FleetRedis, count: () => void): RedisClient {
  const client = createCacheClient(access);
  if (!(client instanceof Redis)) throw new Error("the fleet has one server");
  client.options.commandTimeout = patienceMs;
  client.options.connectTimeout = patienceMs;
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, stream) => {
    count();
    const [text] = command.args;
    if (typeof text === "string") command.args[0] = replaceTime(command.name, text);
    return send(command, stream);
  };
  return client;
}
