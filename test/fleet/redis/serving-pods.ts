import { onTestFinished } from "vitest";
import { aclUser } from "../../../testkit/acl.ts";
import { ConfigWriter, sandboxConfig } from "../../../testkit/config-writer.ts";
import { Children, type Serving, startServing } from "../../../testkit/processes.ts";
import type { RealRedis } from "../../../testkit/redis.ts";

/** What a process is configured with beside its listener and the Redis that all share. */
interface Described {
  readonly environment: Parameters<typeof sandboxConfig>[1];
  readonly more: object;
}

/** The built command, each in a process of its own. They share a Redis. All of it ends with the test. */
export async function startServingPods(
  count: number,
  redis: RealRedis,
  /** Writes no file a second time: a process would reload it as a change. */
  describe: (folder: ConfigWriter, index: number) => Described | Promise<Described>,
): Promise<Serving[]> {
  const children = new Children();
  onTestFinished(() => children.endAll());
  const folder = new ConfigWriter("pods");
  onTestFinished(() => folder.remove());
  const password = folder.secret("redis-password", aclUser.password);
  const encryptionKeys = [folder.newKey("token-key")];
  const shared = {
    tokens: { cache: "redis" },
    redis: { url: redis.url, username: aclUser.username, password, encryptionKeys },
  };
  const pods: Serving[] = [];
  for (let index = 0; index < count; index += 1) {
    const { environment, more } = await describe(folder, index);
    const writeConfig = (port: number) =>
      folder.config(`pod-${index}.yaml`, sandboxConfig([`127.0.0.1:${port}`], environment, { ...shared, ...more }));
    pods.push(await startServing({ children, writeConfig, onLine: () => {} }));
  }
  return pods;
}
