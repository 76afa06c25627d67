import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** scripts/redis-image.sh makes one where no registry can be reached. */
const image = process.env["COUNTERSIGN_TEST_REDIS_IMAGE"] ?? "redis:7-alpine";

/** Undefined when a container of Redis can be started. */
export async function whyNoDocker(): Promise<string | undefined> {
  const version = await run("docker", ["version", "--format", "{{.Server.Version}}"], { timeout: 3_000 }).catch(
    () => undefined,
  );
  if (version === undefined) return "no Docker engine answers";
  const isThere = await run("docker", ["image", "inspect", image], { timeout: 3_000 }).catch(() => undefined);
  if (isThere !== undefined) return undefined;
  const pulled = await run("docker", ["pull", "--quiet", image], { timeout: 60_000 }).catch(() => undefined);
  return pulled === undefined ? `the image ${image} is not there and cannot be pulled` : undefined;
}

/** A Redis in a container of its own, on a port of this machine. */
export async function startContainer(): Promise<{ readonly url: string; end(): Promise<void> }> {
  // The container is ended here; its watchdog would be one more image to pull.
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
