import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SimulatedSite } from "../simulator/src/service/sites.ts";
import { toYaml } from "../src/config/files/yaml.ts";
import { command } from "./processes.ts";

/** A secret in a configuration. */
export interface SecretFile {
  readonly file: string;
}

const folders = new Set<string>();
process.on("exit", () => {
  for (const folder of folders) remove(folder);
});

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
}

/** A new folder of configurations and secrets that only this user can enter. It is removed at the latest when this process ends. */
export class ConfigWriter {
  readonly path: string;

  /** @param name a part of the folder's name */
  constructor(name: string) {
    this.path = mkdtempSync(join(tmpdir(), `countersign-${name}-`));
    folders.add(this.path);
  }

  /** Writes a file of the folder, and returns its path. */
  write(name: string, content: string | Uint8Array, mode = 0o600): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  }

  secret(name: string, text: string): SecretFile {
    return { file: this.write(name, text) };
  }

  /** A new encryption key, made by `keygen`. */
  newKey(name: string): SecretFile {
    const file = join(this.path, name);
    execFileSync(process.execPath, [command, "keygen", "--out", file], { stdio: ["ignore", "ignore", "inherit"] });
    return { file };
  }

  /** The simulator's sites as the configuration's `sites`. */
  sites(simulated: readonly SimulatedSite[]): object {
    const entries = simulated.map(({ identifier, credentials, keys }) => {
      const sets = credentials?.map(({ clientSecret, ...set }) => {
        return { name: set.clientId, ...set, clientSecret: this.secret(set.clientId, clientSecret) };
      });
      const pairs = keys?.map((key) => ({
        identifier: key.identifier,
        secret: this.secret(key.identifier, key.secret),
      }));
      return [identifier, { credentials: sets, keys: pairs }];
    });
    return Object.fromEntries(entries);
  }

  /** Writes a configuration as YAML, and returns its file. A process that watches the file never sees it half written. */
  config(name: string, config: object): string {
    const file = join(this.path, name);
    renameSync(this.write(`${name}.new`, toYaml(config)), file);
    return file;
  }

  remove(): void {
    remove(this.path);
  }
}

/** Keys of an environment in addition to those that every environment has. */
export interface WrittenEnvironment {
  readonly baseUrl: string;
  readonly sites: object;
  readonly [key: string]: unknown;
}

/** A configuration with one environment, `sandbox`, whose admin and status servers listen on any free port. */
export function sandboxConfig(binds: readonly string[], sandbox: WrittenEnvironment, more: object = {}): object {
  return {
    listeners: binds.map((bind) => ({ bind, environment: "sandbox" })),
    admin: { bind: "127.0.0.1:0" },
    status: { bind: "127.0.0.1:0" },
    environments: { sandbox: { allowPlaintext: true, operations: ["create_order"], ...sandbox } },
    ...more,
  };
}
