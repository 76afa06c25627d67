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
 * An address in COUNTERSIGN_TEST_REDIS_URL, else Docker, else a `redis-server`, else, as root on Debian or Ubuntu, the
 * distribution's package, which is installed. COUNTERSIGN_TEST_REDIS=docker or =binary leaves no choice.
 * @throws Error with the one line to type
 */
export async function findRedis(env: NodeJS.ProcessEnv, say: (line: string) => void): Promise<RedisHome> {
  const wanted = env["COUNTERSIGN_TEST_REDIS"];
  const given = env["COUNTERSIGN_TEST_REDIS_URL"];
  if (given !== undefined) return await useGiven(given);
  installServer(say);
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

/** The fault tests need a server's process, wherever the common Redis is. */
function installServer(say: (line: string) => void): void {
  if (hasServer() || process.getuid?.() !== 0 || spawnSync("apt-get", ["--version"]).status !== 0) return;
  say("redis-server is missing: installing the distribution's package (apt-get install redis-server)");
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, timeout: 300_000 };
  spawnSync("apt-get", ["update", "-qq"], options);
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "redis-server"], options);
}
