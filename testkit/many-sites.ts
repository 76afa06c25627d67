import { randomBytes } from "node:crypto";
import { rootCertificates } from "node:tls";
import type { ConfigFolder } from "../test/config/config-folder.ts";

export interface ManySites {
  readonly sites: number;
  /** Of the authorization server and the service, where nothing need listen. */
  readonly port: number;
  /** Whether the authorities of a whole system are trusted by name, as `caFile`. */
  readonly withAuthorities?: boolean;
}

/** Five operations, as the figures ask for. */
export const operations = ["create_order", "get_order", "cancel_order", "refund_order", "list_orders"] as const;

/** `S1000000000` and on: the first half with credentials of its own (OAuth), the second with a key (HMAC). */
export function siteAt(index: number): string {
  return `S${1_000_000_000 + index}`;
}

/** Writes a configuration of many sites, each with a secret of its own, and returns its file. */
export function writeManySites(folder: ConfigFolder, { sites, port, withAuthorities = false }: ManySites): string {
  const scheme = withAuthorities ? "https" : "http";
  const lines = Array.from({ length: sites }, (_, index) => {
    const secret = `{ file: ${folder.write(`secret-${index}`, randomBytes(16).toString("hex"))} }`;
    const oauth = `credentials: [ { name: blue, clientId: c${index}, clientSecret: ${secret}, audience: "https://api.example" } ]`;
    const hmac = `keys: [ { identifier: K${2_000_000_000 + index}, secret: ${secret} } ]`;
    return `      ${siteAt(index)}: { ${index < sites / 2 ? oauth : hmac} }`;
  });
  const trust = `    tls: { caFile: ${folder.write("authorities", rootCertificates.join("\n"))} }`;
  return folder.write(
    "countersign.yaml",
    `listeners: [ { bind: "127.0.0.1:0", environment: sandbox } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${scheme}://localhost:${port}/json-api
    authUrl: ${scheme}://127.0.0.1:${port}
    allowPlaintext: ${!withAuthorities}
    operations: [${operations.join(", ")}]
${withAuthorities ? trust : ""}
    sites:
${lines.join("\n")}
`,
  );
}
