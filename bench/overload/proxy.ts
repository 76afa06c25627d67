import type { SimulatedSite } from "../../simulator/src/service/sites.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { type Children, type Serving, startServing } from "../../testkit/processes.ts";

/** It signs, so that no authorization server has a part in it; the secret is made up and public. */
export const site: SimulatedSite = {
  identifier: "S1000000003",
  keys: [{ identifier: "K2000000001", secret: "example-api-secret-of-the-bench" }],
};

/** The built command, with a limit on what it has in flight. Its folder goes away with this process. */
export function startProxy(children: Children, baseUrl: string, inFlight: number): Promise<Serving> {
  const writer = new ConfigWriter("overload");
  const sandbox = { baseUrl, authUrl: "http://127.0.0.1:1", sites: writer.sites([site]) };
  const limits = { inFlightPerEnvironment: inFlight, connections: 10_000 };
  const writeConfig = (port: number) =>
    writer.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`], sandbox, { limits }));
  return startServing({ children, writeConfig, onLine: () => {} });
}
