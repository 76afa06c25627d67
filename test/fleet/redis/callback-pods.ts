import { freePort } from "../../../testkit/free-port.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { secret, site } from "../../promises/callbacks/sender.ts";
import type { Application } from "../../promises/callbacks/stage.ts";
import { startServingPods } from "./serving-pods.ts";

export interface Pod {
  /** Where it takes callbacks. */
  readonly port: number;
  readonly adminUrl: string;
  readonly pid: number;
}

/** Processes that share a Redis and lead to one application. */
export async function startPods(
  count: number,
  redis: RealRedis,
  { url }: Application,
  replay = "strict",
): Promise<Pod[]> {
  const ports: number[] = [];
  const pods = await startServingPods(count, redis, async (folder, index) => {
    ports[index] = await freePort();
    const bind = `127.0.0.1:${ports[index]}`;
    const key = { identifier: "K2000000001", secret: folder.secret(`k1-${index}`, secret) };
    const sites = { [site]: { keys: [key] } };
    return {
      environment: { baseUrl: "http://127.0.0.1:1/json-api", authUrl: "http://127.0.0.1:2", sites },
      more: { callbacks: [{ bind, environment: "sandbox", application: { url, timeout: "2s" }, replay }] },
    };
  });
  return pods.map(({ adminUrl, process }, index) => ({ port: ports[index] ?? 0, adminUrl, pid: process.pid }));
}

export const shares = (pods: readonly Pod[]) => (index: number) => pods[index % pods.length]?.port ?? 0;
