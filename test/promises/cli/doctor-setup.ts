import { onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { ConfigFolder, canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";

/** What a configuration for the doctor is made of; YAML throughout, `DIR` stands for the folder. */
export interface Parts {
  readonly environments: Readonly<Record<string, string>>;
  /** Keys of the section `redis` beside the user and the encryption keys. */
  readonly redis?: string;
  readonly more?: string;
  /** Keys of the listener beside its address and environment. */
  readonly listener?: string;
}

export interface DoctorFolder {
  readonly folder: ConfigFolder;
  readonly adminPort: number;
  /** The file's path; each call writes it anew. */
  write(parts: Parts): string;
}

/** A folder with every secret that configurations for the doctor name. */
export async function openFolder(): Promise<DoctorFolder> {
  const folder = new ConfigFolder();
  folder.write("token-key", tokenKey);
  folder.write("redis-password", aclUser.password);
  const [adminPort, statusPort] = [await freePort(), await freePort()];
  return {
    folder,
    adminPort,
    write({ environments, redis, more = "", listener = "" }) {
      const [first = ""] = Object.keys(environments);
      const login = `username: ${aclUser.username}, password: { file: DIR/redis-password }`;
      const yaml = `listeners: [ { bind: "unix:DIR/app.sock", environment: ${first}${listener} } ]
admin: { bind: "127.0.0.1:${adminPort}" }
status: { bind: "127.0.0.1:${statusPort}" }
environments:
${Object.entries(environments)
  .map(([name, yaml]) => `  ${name}: { operations: [create_order], ${yaml} }`)
  .join("\n")}
${redis === undefined ? "" : `tokens: { cache: redis }\nredis: { ${login}, encryptionKeys: [ { file: DIR/token-key } ], ${redis} }`}
${more}
`;
      return folder.write("countersign.yaml", yaml.replaceAll("DIR", folder.path));
    },
  };
}

/** A service with the set `blue` of the configurations' folders. */
export async function startService(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const audience = "https://api.sandbox.example";
  const credentials = [{ clientId: "blue-id", clientSecret: canaries.blue, audience }];
  const simulator = await startSimulator({ sites: [{ identifier: "S1", credentials }], ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

export const blueSites = "sites: { S1: { credentials: [ { name: blue, dir: DIR/blue } ] } }";

/** An environment whose hosts are the simulator's. */
export function environmentOf({ apiUrl, loginUrl }: Simulator, sites = blueSites): string {
  return `baseUrl: "${apiUrl}", authUrl: "${loginUrl}", allowPlaintext: true, ${sites}`;
}
