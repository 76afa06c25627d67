import { openRedis } from "../../testkit/real-redis.ts";

/** The Redis of the soak: a real process that can be hung, killed and made read-only. */
export interface SoakRedis {
  readonly url: string;
  /** SIGSTOP, and back with SIGCONT. */
  hang(): void;
  resume(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Back at its place, empty. */
  restart(): Promise<void>;
  /** It follows a master that is not there, and so takes no writes: what a failover leaves behind. */
  demote(): Promise<void>;
  promote(): Promise<void>;
  end(): Promise<void>;
}

/** It does not outlive this process, however that ends. */
export async function startRedis(): Promise<SoakRedis> {
  const server = await openRedis();
  let isRunning = true;
  process.on("exit", () => {
    if (isRunning) process.kill(server.pid(), "SIGKILL");
  });
  return {
    url: server.url,
    hang: () => server.stop(),
    resume: () => server.cont(),
    async kill() {
      isRunning = false;
      await server.kill();
    },
    async restart() {
      await server.restart();
      isRunning = true;
    },
    async demote() {
      await server.command("REPLICAOF", "127.0.0.1", "1");
    },
    async promote() {
      await server.command("REPLICAOF", "NO", "ONE");
    },
    async end() {
      isRunning = false;
      await server.end();
    },
  };
}
