import type { SimulatedSite } from "../../simulator/src/service/sites.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";

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
  /** Puts a replica's configuration in its place, whole, and returns its file. */
  writeConfig(replica: string, port: number, tokenTimeout: TokenTimeout): string;
  remove(): void;
}

export function createFolder({ baseUrl, authUrl, redisUrl }: Places): Folder {
  const writer = new ConfigWriter("soak");
  const { clientId, audience } = credentials;
  const clientSecret = writer.secret("client-secret", credentials.clientSecret);
  const sites = {
    [oauthSite]: { credentials: [{ name: "blue", clientId, clientSecret, audience }] },
    [hmacSite]: { keys: [{ identifier: key.identifier, secret: writer.secret("api-secret", key.secret) }] },
  };
  const shared = {
    tokens: { cache: "redis" },
    redis: { url: redisUrl, encryptionKeys: [writer.newKey("token-key")] },
    // Which replica holds the lock and which took a token from Redis is logged on this level alone.
    log: { level: "debug" },
    // A service that answers nothing for two seconds must not look like too many callers.
    limits: { inFlightPerEnvironment: 10_000, connections: 10_000 },
  };
  return {
    writeConfig(replica, port, token) {
      const timeouts = { request: `${requestTimeoutMs}ms`, connect: "1s", token };
      const config = sandboxConfig([`127.0.0.1:${port}`], { baseUrl, authUrl, sites }, { ...shared, timeouts });
      return writer.config(`${replica}.yaml`, config);
    },
    remove: () => writer.remove(),
  };
}
