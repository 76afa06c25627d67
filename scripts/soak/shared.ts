import { type Simulator, startSimulator } from "../../simulator/src/service/simulator.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { Children } from "../../testkit/processes.ts";
import { openRedis, type RealRedis } from "../../testkit/redis.ts";
import { oneOfEachMethod } from "../../testkit/simulated-sites.ts";
import { requestTimeoutMs, tokenLifetimeSeconds } from "./settings.ts";

/** The objects that the replicas share. */
export interface Shared {
  readonly simulator: Simulator;
  readonly redis: RealRedis;
  readonly children: Children;
  /** Writes a replica's configuration in one step, and returns its file. A reload changes the time to wait for a token. */
  writeConfig(replica: string, port: number, tokenMs: number): string;
  /** Ends all processes, the replicas first. */
  close(): Promise<void>;
}

/** The simulated service, a Redis, and a folder of configurations and secrets. None of them outlives this process. */
export async function openShared(): Promise<Shared> {
  const children = new Children();
  const redis = await openRedis();
  const simulator = await startSimulator({ sites: oneOfEachMethod, tokenLifetimeSeconds });
  const writer = new ConfigWriter("soak");
  const sandbox = { baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl, sites: writer.sites(oneOfEachMethod) };
  const shared = {
    tokens: { cache: "redis" },
    redis: { url: redis.url, encryptionKeys: [writer.newKey("token-key")] },
    // Two seconds without an answer of the service must not count as overload.
    limits: { inFlightPerEnvironment: 10_000, connections: 10_000 },
  };
  return {
    simulator,
    redis,
    children,
    writeConfig(replica, port, tokenMs) {
      const timeouts = { request: `${requestTimeoutMs}ms`, connect: "1s", token: `${tokenMs}ms` };
      const config = sandboxConfig([`127.0.0.1:${port}`], sandbox, { ...shared, timeouts });
      return writer.config(`${replica}.yaml`, config);
    },
    async close() {
      await children.endAll();
      await Promise.all([simulator.stop(), redis.end()]);
      writer.remove();
    },
  };
}
