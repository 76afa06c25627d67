import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startSimulator } from "../simulator/src/service/simulator.ts";
import { call, order } from "./call.ts";
import { ConfigFolder } from "./config-folder.ts";
import { configuration } from "./faults-configuration.ts";
import { startRedis } from "./redis.ts";
import { simulatedSites } from "./simulated-sites.ts";

/** Limits that not even a busy machine reaches. */
const patient = { requestSeconds: 50, waitSeconds: 20 };

/** A configuration with both ways of authentication, and everything that `serve` needs for it; for tests that start `serve` in their own way. */
export async function stageBothWays() {
  const simulator = await startSimulator({ sites: simulatedSites });
  onTestFinished(() => simulator.stop());
  const redis = await startRedis();
  const folder = new ConfigFolder();
  const socketPath = join(folder.path, "app.sock");
  const yaml = configuration(simulator, socketPath, redis.url, patient);
  const file = folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
  const orderAt = (site: string) =>
    call("http://localhost", order, { socketPath, headers: { "Countersign-Site": site } }).then(({ status }) => status);
  return { simulator, redis, folder, socketPath, file, orderAt };
}
