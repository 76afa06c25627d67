import type { SimulatedCredentials, SimulatedSite } from "../../simulator/src/service/sites.ts";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";

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
  /** @returns the configuration file of a replica that listens on this port; all have the same but for the port */
  writeConfig(name: string, port: number, places: Places): string;
  remove(): void;
}

export function createFolder(): Folder {
  const writer = new ConfigWriter("fleet");
  const { clientId, audience } = credentials;
  const clientSecret = writer.secret("client-secret", credentials.clientSecret);
  const encryptionKeys = [writer.newKey("token-key")];
  return {
    writeConfig(name, port, { baseUrl, authUrl, redisUrl }) {
      const sites = { [site.identifier]: { credentials: [{ name: "blue", clientId, clientSecret, audience }] } };
      const config = sandboxConfig(
        [`127.0.0.1:${port}`],
        { baseUrl, authUrl, sites },
        {
          tokens: { cache: "redis" },
          redis: { url: redisUrl, encryptionKeys },
          // Which replica holds the lock and which took a token from Redis is logged on this level alone.
          log: { level: "debug" },
        },
      );
      return writer.config(`${name}.yaml`, config);
    },
    remove: () => writer.remove(),
  };
}
