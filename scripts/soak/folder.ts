import { execFileSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toYaml } from "../../src/config/yaml.ts";
import type { SimulatedSite } from "../../src/simulator/sites.ts";
import { command } from "./serve.ts";

export const oauthSite = "S1000000001";
export const hmacSite = "S1000000003";
export const sites = [oauthSite, hmacSite] as const;

const credentials = {
  clientId: "client-blue",
  clientSecret: "example-client-secret-blue",
  audience: "https://api.sandbox.example",
};
const key = { identifier: "K2000000001", secret: "example-api-secret-of-the-soak" };

/** Both methods of authentication; the secrets are made up and public. */
export const simulatedSites: readonly SimulatedSite[] = [
  { identifier: oauthSite, credentials: [credentials] },
  { identifier: hmacSite, keys: [key] },
];

/** Short, so that a slow service shows; long enough for a machine that stalls. */
export const requestTimeoutMs = 5_000;
/** How long requests wait for a token. */
export const tokenTimeoutMs = 2_000;
/** A reload changes it from the one to the other. */
export const tokenTimeouts = [`${tokenTimeoutMs}ms`, `${tokenTimeoutMs - 1}ms`] as const;
export type TokenTimeout = (typeof tokenTimeouts)[number];

/** Where everything is that the replicas share. */
export interface Places {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly redisUrl: string;
}

/** Configurations and secrets on disk, as a user has them, for as long as the soak runs. */
export interface Folder {
  /** Puts a replica's configuration in its place, whole, and says where that is. */
  writeConfig(replica: string, port: number, tokenTimeout: TokenTimeout): string;
  remove(): void;
}

/** A new folder that only this user can enter. It goes away however the soak ends. */
export function createFolder(places: Places): Folder {
  const path = mkdtempSync(join(tmpdir(), "countersign-soak-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.on("exit", remove);
  const write = (name: string, text: string) => {
    const file = join(path, name);
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
    return file;
  };
  const files = {
    clientSecret: write("client-secret", credentials.clientSecret),
    key: write("api-secret", key.secret),
    encryptionKey: join(path, "token-key"),
  };
  execFileSync(process.execPath, [command, "keygen", "--out", files.encryptionKey], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return {
    writeConfig: (replica, port, tokenTimeout) =>
      write(`${replica}.yaml`, toYaml({ ...describeShared(places, files), ...describeOwn(port, tokenTimeout) })),
    remove,
  };
}

interface Files {
  readonly clientSecret: string;
  readonly key: string;
  readonly encryptionKey: string;
}

function describeShared({ baseUrl, authUrl, redisUrl }: Places, files: Files): object {
  const { clientId, audience } = credentials;
  const sandbox = {
    baseUrl,
    authUrl,
    allowPlaintext: true,
    operations: ["create_order"],
    sites: {
      [oauthSite]: { credentials: [{ name: "blue", clientId, clientSecret: { file: files.clientSecret }, audience }] },
      [hmacSite]: { keys: [{ identifier: key.identifier, secret: { file: files.key } }] },
    },
  };
  return {
    environments: { sandbox },
    tokens: { cache: "redis" },
    redis: { url: redisUrl, encryptionKeys: [{ file: files.encryptionKey }] },
    // Who holds the lock and who took a token from Redis is said on this level alone.
    log: { level: "debug" },
    // A service that answers nobody for two seconds must not look like too many callers.
    limits: { inFlightPerEnvironment: 10_000, connections: 10_000 },
  };
}

function describeOwn(port: number, tokenTimeout: TokenTimeout): object {
  return {
    listeners: [{ bind: `127.0.0.1:${port}`, environment: "sandbox" }],
    admin: { bind: "127.0.0.1:0" },
    status: { bind: "127.0.0.1:0" },
    timeouts: { request: `${requestTimeoutMs}ms`, connect: "1s", token: tokenTimeout },
  };
}
