import { spawnSync } from "node:child_process";
import { Redis } from "ioredis";
import { missingServer, openRedis } from "./real-redis.ts";
import { startContainer, whyNoDocker } from "./redis-container.ts";

/** Where the tests' common Redis comes from. Fault tests start their own `redis-server`, since they need its process. */
export interface RedisHome {
  readonly kind: "given" | "docker" | "binary";
  readonly url: string;
  end(): Promise<void>;
}

/**
 * An address in COUNTERSIGN_TEST_REDIS_URL, else Docker, else a `redis-server`. COUNTERSIGN_TEST_REDIS=docker or =binary
 * leaves no choice.
 * @throws Error with the one line to type
 */
export async function findRedis(env: NodeJS.ProcessEnv): Promise<RedisHome> {
  const wanted = env["COUNTERSIGN_TEST_REDIS"];
  const given = env["COUNTERSIGN_TEST_REDIS_URL"];
  if (given !== undefined) return await useGiven(given);
  if (wanted !== "binary") {
    const why = await whyNoDocker();
    if (why === undefined) return { kind: "docker", ...(await startContainer()) };
    if (wanted === "docker") throw new Error(`COUNTERSIGN_TEST_REDIS=docker, but ${why}`);
  }
  if (!hasServer()) throw new Error(missingServer);
  return { kind: "binary", ...(await openRedis()) };
}

async function useGiven(url: string): Promise<RedisHome> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 3_000 });
  client.on("error", () => {});
  await client.connect().catch(() => {
    throw new Error(`COUNTERSIGN_TEST_REDIS_URL is ${url}, and no Redis answers there`);
  });
  client.disconnect();
  return { kind: "given", url, async end() {} };
}

function hasServer(): boolean {
  return spawnSync("redis-server", ["--version"]).status === 0;
}
