import { inject } from "vitest";
import { freePort } from "./free-port.ts";
import {
  argumentsOf,
  configurationOf,
  isReady,
  openRedis,
  type RedisOptions,
  type RedisServer,
  reach,
} from "./redis.ts";

/** scripts/redis-image.sh builds an image if no registry can be reached. */
export const image = process.env["COUNTERSIGN_TEST_REDIS_IMAGE"] ?? "redis:7-alpine";

/** Starts a server that its caller ends: a container if the run's common Redis is one, else a process. */
export async function openServer(options: RedisOptions = {}): Promise<RedisServer> {
  const redis = inject("redis");
  if ("why" in redis) throw new Error(redis.why);
  return redis.kind === "docker" ? await openContainer(options) : await openRedis(options);
}

/**
 * A Redis in its own container, on this machine's network: Sentinels and nodes of a Cluster find each other, and tell clients,
 * at the addresses at which the tests find them.
 */
export async function openContainer(options: RedisOptions = {}): Promise<RedisServer> {
  // `end` removes the container; Testcontainers' watchdog would be one more image to pull.
  process.env["TESTCONTAINERS_RYUK_DISABLED"] ??= "true";
  const { GenericContainer, Wait } = await import("testcontainers");
  const port = await freePort();
  // The image gives this folder to the user that runs Redis; Sentinels rewrite their configuration.
  const folder = "/data";
  const container = await new GenericContainer(image)
    .withNetworkMode("host")
    .withCopyContentToContainer([{ content: configurationOf(options), target: `${folder}/redis.conf` }])
    .withCommand(["redis-server", ...argumentsOf(options, port, folder)])
    .withWaitStrategy(Wait.forLogMessage(isReady))
    .start();
  return reach(port, async () => void (await container.stop()));
}
