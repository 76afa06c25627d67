import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Children } from "../../scripts/demo-fleet/children.ts";
import { type Serving, startServing } from "../../scripts/soak/serve.ts";
import { toYaml } from "../../src/config/yaml.ts";
import type { SimulatedSite } from "../../src/simulator/sites.ts";

const key = { identifier: "K2000000001", secret: "example-api-secret-of-the-bench" };

/** It signs, so that no authorization server has a part in it; the secret is made up and public. */
export const site: SimulatedSite = { identifier: "S1000000003", keys: [key] };

/** The built command, with a limit on what it has in flight. Its folder goes away with this process. */
export function startProxy(children: Children, baseUrl: string, inFlight: number): Promise<Serving> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-overload-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const secret = { file: write("api-secret", key.secret) };
  const sandbox = {
    baseUrl,
    authUrl: "http://127.0.0.1:1",
    allowPlaintext: true,
    operations: ["create_order"],
    sites: { [site.identifier]: { keys: [{ identifier: key.identifier, secret }] } },
  };
  const config = (port: number) => ({
    listeners: [{ bind: `127.0.0.1:${port}`, environment: "sandbox" }],
    admin: { bind: "127.0.0.1:0" },
    status: { bind: "127.0.0.1:0" },
    environments: { sandbox },
    limits: { inFlightPerEnvironment: inFlight, connections: 10_000 },
  });
  const writeConfig = (port: number) => write("countersign.yaml", toYaml(config(port)));
  return startServing({ children, writeConfig, onLine: () => {} });
}
