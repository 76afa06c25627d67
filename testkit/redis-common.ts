import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import type { TestProject } from "vitest/node";
import { isLeftOut } from "./left-out.ts";
import { openRedis } from "./redis.ts";
import { image, openContainer } from "./redis-container.ts";

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
    if (why === undefined) return { kind: "docker", ...(await openContainer()) };
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

/** Undefined if a container of Redis can be started. */
async function whyNoDocker(): Promise<string | undefined> {
  const system = await run("docker", ["info", "--format", "{{.OperatingSystem}}"], { timeout: 3_000 }).catch(
    () => undefined,
  );
  if (system === undefined) return "no Docker engine answers";
  if (system.stdout.startsWith("Docker Desktop")) return "Docker Desktop gives containers another machine's network";
  const isThere = await run("docker", ["image", "inspect", image], { timeout: 3_000 }).catch(() => undefined);
  if (isThere !== undefined) return undefined;
  const pulled = await run("docker", ["pull", "--quiet", image], { timeout: 60_000 }).catch(() => undefined);
  return pulled === undefined ? `the image ${image} is not there and cannot be pulled` : undefined;
}
