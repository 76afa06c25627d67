import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import type { TestProject } from "vitest/node";
import { isLeftOut } from "./left-out.ts";
import { openRedis } from "./redis.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The tests' common Redis, or why there is none. */
    redis: { readonly kind: string; readonly url: string } | { readonly kind: "none"; readonly why: string };
  }
}

/** One Redis for a whole run; tests that do not use Redis do not fail if there is none. */
export default async function setup({ name, provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (name === "unit" || isLeftOut("redis-server")) return undefined;
  try {
    const { kind, url, end } = await findRedis(process.env);
    provide("redis", { kind, url });
    return end;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stdout.write(`${why}\n`);
    provide("redis", { kind: "none", why });
    return async () => {};
  }
}

/** The source of the tests' common Redis. Fault tests start their own `redis-server`, since they stop or kill its process. */
interface RedisHome {
  readonly kind: "given" | "docker" | "binary";
  readonly url: string;
  end(): Promise<void>;
}

/**
 * An address in COUNTERSIGN_TEST_REDIS_URL, else Docker, else a `redis-server`. COUNTERSIGN_TEST_REDIS=docker or =binary
 * allows only that source.
 * @throws Error with the command that provides a Redis
 */
async function findRedis(env: NodeJS.ProcessEnv): Promise<RedisHome> {
  const wanted = env["COUNTERSIGN_TEST_REDIS"];
  const given = env["COUNTERSIGN_TEST_REDIS_URL"];
  if (given !== undefined) return await useGiven(given);
  if (wanted !== "binary") {
    const why = await whyNoDocker();
    if (why === undefined) return { kind: "docker", ...(await startContainer()) };
    if (wanted === "docker") throw new Error(`COUNTERSIGN_TEST_REDIS=docker, but ${why}`);
  }
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

const run = promisify(execFile);

/** scripts/redis-image.sh builds an image if no registry can be reached. */
const image = process.env["COUNTERSIGN_TEST_REDIS_IMAGE"] ?? "redis:7-alpine";

/** Undefined if a container of Redis can be started. */
async function whyNoDocker(): Promise<string | undefined> {
  const version = await run("docker", ["version", "--format", "{{.Server.Version}}"], { timeout: 3_000 }).catch(
    () => undefined,
  );
  if (version === undefined) return "no Docker engine answers";
  const isThere = await run("docker", ["image", "inspect", image], { timeout: 3_000 }).catch(() => undefined);
  if (isThere !== undefined) return undefined;
  const pulled = await run("docker", ["pull", "--quiet", image], { timeout: 60_000 }).catch(() => undefined);
  return pulled === undefined ? `the image ${image} is not there and cannot be pulled` : undefined;
}

/** A Redis in its own container, on a port of this machine. */
async function startContainer(): Promise<{ readonly url: string; end(): Promise<void> }> {
  // This code ends the container; Testcontainers' watchdog would be one more image to pull.
  process.env["TESTCONTAINERS_RYUK_DISABLED"] ??= "true";
  const { GenericContainer, Wait } = await import("testcontainers");
  const container = await new GenericContainer(image)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    async end() {
      await container.stop();
    },
  };
}
