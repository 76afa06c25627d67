import { randomBytes } from "node:crypto";
import { rootCertificates } from "node:tls";
import { toYaml } from "../src/config/files/yaml.ts";
import { type ConfigWriter, type SecretFile, sandboxConfig } from "./config-writer.ts";

export interface ManySites {
  readonly sites: number;
  /** Port of the authorization server and the service; no server needs to listen there. */
  readonly port: number;
  /** Whether the configuration names the authorities of the whole system as `caFile`. */
  readonly withAuthorities?: boolean;
}

/** Five operations, as the figures assume. */
export const operations = ["create_order", "get_order", "cancel_order", "refund_order", "list_orders"] as const;

/** `S1000000000` and the following: the first half with their own credentials (OAuth), the second half with a key (HMAC). */
export function siteAt(index: number): string {
  return `S${1_000_000_000 + index}`;
}

/** A site with its own secret: credentials (OAuth) in the first half, a key (HMAC) in the second. */
function siteWith(secret: SecretFile, index: number, sites: number): object {
  const set = { name: "blue", clientId: `c${index}`, clientSecret: secret, audience: "https://api.example" };
  const key = { identifier: `K${2_000_000_000 + index}`, secret };
  return index < sites / 2 ? { credentials: [set] } : { keys: [key] };
}

const secretAt = (folder: ConfigWriter, index: number) =>
  folder.secret(`secret-${index}`, randomBytes(16).toString("hex"));

/** Writes a configuration whose sites are in separate files. Returns its file, and functions that rewrite a site's file, and its secret. */
export function writeSiteFolder(folder: ConfigWriter, { sites, port }: ManySites) {
  const secrets = Array.from({ length: sites }, (_, index) => secretAt(folder, index));
  const write = (index: number, more = "") => {
    const site = siteWith(secrets[index] ?? { file: "" }, index, sites);
    folder.write(`sites.d/${siteAt(index)}.yaml`, `${more}${toYaml(site)}`);
  };
  for (const index of secrets.keys()) write(index);
  const sandbox = {
    baseUrl: `http://127.0.0.1:${port}/json-api`,
    authUrl: `http://localhost:${port}`,
    allowPlaintext: true,
    operations,
    sites: { folder: "sites.d" },
  };
  return {
    file: folder.config("countersign.yaml", sandboxConfig(["127.0.0.1:0"], sandbox)),
    write,
    renew: (index: number) => secretAt(folder, index),
  };
}

/** Writes a configuration of many sites, each with a secret of its own, and returns its file. */
export function writeManySites(folder: ConfigWriter, { sites, port, withAuthorities = false }: ManySites): string {
  const scheme = withAuthorities ? "https" : "http";
  const all = Array.from({ length: sites }, (_, index) => {
    return [siteAt(index), siteWith(secretAt(folder, index), index, sites)];
  });
  const sandbox = {
    baseUrl: `${scheme}://localhost:${port}/json-api`,
    authUrl: `${scheme}://127.0.0.1:${port}`,
    allowPlaintext: !withAuthorities,
    operations,
    ...(withAuthorities ? { tls: { caFile: folder.write("authorities", rootCertificates.join("\n")) } } : {}),
    sites: Object.fromEntries(all),
  };
  return folder.config("countersign.yaml", sandboxConfig(["127.0.0.1:0"], sandbox));
}
