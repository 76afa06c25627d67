import { onTestFinished } from "vitest";
import type { Problem } from "../src/config/diagnostics.ts";
import { type Loaded, loadConfig } from "../src/config/load.ts";
import type { ConfigDependencies } from "../src/config/rules/load-context.ts";
import { ConfigWriter } from "./config-writer.ts";

/** Secrets long enough to pass without a warning, and easy to find in an output that must not contain them. */
export const canaries = {
  blue: "canary-client-secret-blue",
  green: "canary-client-secret-green",
  key: "canary-api-secret-key-one",
} as const;

/** 64 hex digits. */
export const tokenKey = "0123456789abcdef".repeat(4);

/** A small configuration without a fault; `DIR` stands for the folder of the configuration. */
export const sound = `listeners:
  - { bind: "127.0.0.1:7411", environment: sandbox }
admin: { bind: ":7412" }
status: { bind: "127.0.0.1:7413" }
environments:
  sandbox:
    baseUrl: https://api.sandbox.example/json-api
    authUrl: https://login.sandbox.example
    operations: [create_order]
    defaultSite: S1000000001
    sites:
      S1000000001:
        credentials:
          - { name: blue, dir: DIR/blue }
      S1000000003:
        keys:
          - { identifier: K2000000001, secret: { file: DIR/k1 } }
`;

/** A second environment, to be appended to the first. */
export const production = `  production:
    baseUrl: https://api.example
    authUrl: https://login.example
    operations: [create_order]
    sites:
      S2000000001:
        credentials:
          - { name: main, clientId: main-id, clientSecret: { file: DIR/main }, audience: "https://api.example" }
`;

type Around = Partial<ConfigDependencies>;

/** A folder of real files with the secrets that the configurations above name. It is removed with the test. */
export class ConfigFolder extends ConfigWriter {
  /** @param files more files, by name */
  constructor(files: Readonly<Record<string, string>> = {}) {
    super("config");
    onTestFinished(() => this.remove());
    this.write("blue/client-id", "blue-id\n");
    this.write("blue/client-secret", `${canaries.blue}\n`);
    this.write("blue/audience", "https://api.sandbox.example\n");
    this.write("green", canaries.green);
    this.write("main", "canary-client-secret-main");
    this.write("k1", canaries.key);
    this.write("k2", "canary-api-secret-key-two");
    this.write("token-key", tokenKey);
    for (const [name, content] of Object.entries(files)) this.write(name, content);
  }

  /** Writes a configuration, and returns its file. */
  writeYaml(yaml: string): string {
    return this.write("countersign.yaml", yaml.replaceAll("DIR", this.path));
  }

  load(yaml: string, around: Around = {}): Promise<Loaded> {
    return loadConfig(this.writeYaml(yaml), { env: {}, mountPoints: new Set(), ...around });
  }

  /** @throws if the configuration is refused */
  async loadSound(yaml: string, around: Around = {}): Promise<Extract<Loaded, { kind: "loaded" }>> {
    const loaded = await this.load(yaml, around);
    if (loaded.kind === "refused") throw new Error(`${yaml}\n${JSON.stringify(loaded.problems)}`);
    return loaded;
  }

  /** The problems for which a configuration is refused; empty if it is accepted. */
  async problemsOf(yaml: string, around: Around = {}): Promise<readonly Problem[]> {
    const loaded = await this.load(yaml, around);
    return loaded.kind === "refused" ? loaded.problems : [];
  }
}

/** The sound configuration with some of its text replaced; each replaced text must occur exactly once. */
export function edited(...edits: readonly (readonly [from: string, to: string])[]): string {
  return edits.reduce((text, [from, to]) => {
    if (text.split(from).length !== 2) throw new Error(`not exactly once in the configuration: ${from}`);
    return text.replace(from, () => to);
  }, sound);
}
