import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toYaml } from "../../src/config/yaml.ts";
import type { SimulatedCredentials, SimulatedSite } from "../../src/simulator/sites.ts";

export const command = "dist/main.js";

const credentials: SimulatedCredentials = {
  clientId: "client-blue",
  clientSecret: "example-client-secret-blue",
  audience: "https://api.sandbox.example",
};

/** The only site of the demo; its secret is made up and public. */
export const site: SimulatedSite = { identifier: "S1000000001", credentials: [credentials] };

/** Where everything is that the replicas share. */
export interface Places {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly redisUrl: string;
}

/** Configurations and secrets on disk, as a user has them, for as long as the demo runs. */
export interface Folder {
  readonly path: string;
  /** @returns the configuration file of a replica that listens on this port */
  writeConfig(name: string, port: number, places: Places): string;
  remove(): void;
}

/** A new folder that only this user can enter, with the secrets in it. It goes away however the demo ends. */
export function createFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "countersign-fleet-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.on("exit", remove);
  const keyFile = join(path, "token-key");
  const dir = join(path, "blue");
  mkdirSync(dir, { mode: 0o700 });
  write(join(dir, "client-id"), credentials.clientId);
  write(join(dir, "client-secret"), credentials.clientSecret);
  write(join(dir, "audience"), credentials.audience);
  execFileSync(process.execPath, [command, "keygen", "--out", keyFile], { stdio: ["ignore", "ignore", "inherit"] });
  return {
    path,
    writeConfig(name, port, places) {
      const file = join(path, `${name}.yaml`);
      write(file, toYaml(describeConfig(port, { dir, keyFile, ...places })));
      return file;
    },
    remove,
  };
}

/** All replicas have the same but for the port, because they share this machine. */
function describeConfig(port: number, at: Places & { readonly dir: string; readonly keyFile: string }): object {
  const sandbox = {
    baseUrl: at.baseUrl,
    authUrl: at.authUrl,
    allowPlaintext: true,
    operations: ["create_order"],
    sites: { [site.identifier]: { credentials: [{ name: "blue", dir: at.dir }] } },
  };
  return {
    listeners: [{ bind: `127.0.0.1:${port}`, environment: "sandbox" }],
    admin: { bind: "127.0.0.1:0" },
    status: { bind: "127.0.0.1:0" },
    environments: { sandbox },
    tokens: { cache: "redis" },
    redis: { url: at.redisUrl, encryptionKeys: [{ file: at.keyFile }] },
    // Who holds the lock and who took a token from Redis is said on this level alone.
    log: { level: "debug" },
  };
}

function write(file: string, text: string): void {
  writeFileSync(file, `${text.trimEnd()}\n`, { mode: 0o600 });
}
