import { Agent } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { type Called, call, order } from "../../../testkit/call.ts";
import { ConfigFolder, canaries } from "../../../testkit/config-folder.ts";
import { type Exposition, scrape } from "../../../testkit/exposition.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { type Program, plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { Mount } from "./mount.ts";

export const oauthSite = "S1000000001";
export const hmacSite = "S1000000003";
export const audience = "https://api.sandbox.example";

/** What a test may want to change; the whole file is written from it. */
export interface Settings {
  /** In YAML, one listener each; `PORT` stands for the pod's own. */
  readonly listeners: readonly string[];
  readonly environmentKeys: string;
  readonly oauthKeys: string;
  readonly hmacKeys: string;
  readonly more: string;
}

/** A line of the log. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was logged
type Line = any;

/** The built command with its files mounted as in a pod, and the simulator behind it. */
export interface Pod {
  readonly simulator: Simulator;
  readonly program: Program;
  readonly port: number;
  readonly url: string;
  readonly adminUrl: string;
  readonly statusUrl: string;
  /** Holds client-id, client-secret and audience. */
  readonly blue: Mount;
  /** Holds countersign.yaml. */
  readonly config: Mount;
  readonly folder: ConfigFolder;
  /** The configuration file's text with these settings changed. */
  yaml(change?: Partial<Settings>): string;
  /** An order on a kept connection. */
  order(headers?: Readonly<Record<string, string>>): Promise<Called>;
  metrics(): Promise<Exposition>;
  lines(event: string): Line[];
  /** The n-th line of this event, be it there or still to come. */
  nth(event: string, n: number): Promise<Line>;
}

export interface PodOptions {
  readonly settings?: Partial<Settings>;
  readonly simulator?: Partial<SimulatorOptions>;
  /** Further files, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/** All of it ends with the test. */
export async function startPod({
  settings = {},
  simulator: simulated = {},
  files = {},
}: PodOptions = {}): Promise<Pod> {
  const simulator = await startSimulator({ sites: simulatedSites, ...simulated });
  onTestFinished(() => simulator.stop());
  const folder = new ConfigFolder();
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  const blue = new Mount(join(folder.path, "mounts/blue"), {
    "client-id": "blue-id\n",
    "client-secret": `${canaries.blue}\n`,
    audience: `${audience}\n`,
  });
  const port = await freePort();
  const usual: Settings = {
    listeners: ['{ bind: "127.0.0.1:PORT", environment: sandbox }'],
    environmentKeys: "",
    oauthKeys: "credentials: [ { name: blue, dir: DIR/mounts/blue } ]",
    hmacKeys: "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]",
    more: "",
    ...settings,
  };
  const yaml = (change: Partial<Settings> = {}) =>
    describe({ ...usual, ...change }, simulator)
      .replaceAll("DIR", folder.path)
      .replaceAll("PORT", String(port));
  const config = new Mount(join(folder.path, "mounts/config"), { "countersign.yaml": yaml() });
  const args = ["dist/main.js", "serve", "--config", join(config.path, "countersign.yaml")];
  const program = startProgram(process.execPath, args, plainEnvironment());
  const started = JSON.parse(await program.line((line) => line.includes('"event":"started"')));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const lines = (event: string) =>
    program
      .stdout()
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes(`"event":"${event}"`))
      .map((line) => JSON.parse(line));
  const url = `http://127.0.0.1:${port}`;
  const adminUrl = `http://${started.adminBind}`;
  return {
    simulator,
    program,
    port,
    url,
    adminUrl,
    statusUrl: `http://${started.statusBind}`,
    blue,
    config,
    folder,
    yaml,
    order: (headers = {}) => call(url, order, { agent, headers }),
    metrics: () => scrape(adminUrl),
    lines,
    async nth(event, n) {
      await program.line((line) => line.includes(`"event":"${event}"`) && lines(event).length >= n);
      return lines(event)[n - 1];
    },
  };
}

const simulatedSites: SimulatorOptions["sites"] = [
  {
    identifier: oauthSite,
    credentials: [
      { clientId: "blue-id", clientSecret: canaries.blue, audience },
      { clientId: "green-id", clientSecret: canaries.green, audience },
    ],
  },
  {
    identifier: hmacSite,
    keys: [
      { identifier: "K2000000001", secret: canaries.key, isDefault: true },
      { identifier: "K2000000002", secret: "canary-api-secret-key-two" },
    ],
  },
];

function describe(settings: Settings, { apiUrl, loginUrl }: Simulator): string {
  return `listeners: [ ${settings.listeners.join(", ")} ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${apiUrl}
    authUrl: ${loginUrl}
    allowPlaintext: true
    operations: [create_order]
    defaultSite: ${oauthSite}
    ${settings.environmentKeys}
    sites:
      ${oauthSite}: { ${settings.oauthKeys} }
      ${hmacSite}: { ${settings.hmacKeys} }
${settings.more}
`;
}
