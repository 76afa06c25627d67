import type { X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from "jose";
import { readDocument } from "../../src/config/files/yaml.ts";
import { authority, clientCertificate, clientKey, serverCertificate, serverKey } from "../../testkit/certificates.ts";
import type { ConfigWriter } from "../../testkit/config-writer.ts";
import { listen } from "../../testkit/listen.ts";
import { recipeOf } from "../../testkit/recipes.ts";
import type { Keycloak } from "./keycloak.ts";
import { secret, site } from "./orders.ts";

/** The service: accepts tokens that Keycloak's keys verify, and a bound token only from the holder of its certificate (RFC 8705). */
export async function startOrderService(keycloak: Keycloak) {
  const keys = createRemoteJWKSet(keycloak.keysUrl, { cooldownDuration: 0, cacheMaxAge: Infinity });
  const executed: string[] = [];
  const tokens: JWTPayload[] = [];
  const options = { key: serverKey, cert: serverCertificate, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, async (request, response) => {
    const body = await text(request);
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    try {
      const { payload } = await jwtVerify(token, keys, { issuer: keycloak.issuer });
      verifyBinding(payload, (request.socket as TLSSocket).getPeerX509Certificate());
      executed.push(JSON.parse(body).order_reference);
      tokens.push(payload);
      response.setHeader("content-type", "application/json").end(body);
    } catch {
      response.writeHead(401).end();
    }
  });
  return { url: `https://localhost:${await listen(server)}`, executed, tokens, reloadKeys: () => keys.reload() };
}

export function thumbprintOf(certificate: X509Certificate): string {
  return Buffer.from(certificate.fingerprint256.replaceAll(":", ""), "hex").toString("base64url");
}

function verifyBinding({ cnf }: JWTPayload, certificate: X509Certificate | undefined): void {
  if (cnf === undefined) return;
  const { "x5t#S256": bound } = cnf as { "x5t#S256": string };
  if (certificate === undefined || bound !== thumbprintOf(certificate)) throw new Error("another certificate's");
}

/** A client's way to prove itself: a recipe of docs/authorization-servers.md, with changes. */
export interface Way {
  readonly clientId: string;
  readonly recipe: string;
  readonly token?: object;
  /** The content of the recipe's key.pem. */
  readonly key?: string;
  /** The platform's token in the file keycloak/token. */
  readonly assertion?: string;
}

/** The recipe's environment, with the test's addresses and files instead of the page's. */
export function environmentOf(way: Way, keycloak: Keycloak, baseUrl: string, folder: ConfigWriter) {
  const { clientId, recipe, token, key = clientKey, assertion = "" } = way;
  const yaml = recipeOf(recipe)
    .yaml.replaceAll("https://keycloak.example", keycloak.origin)
    .replace("https://mtls.login.example/oauth2/token", `${keycloak.issuer}/protocol/openid-connect/token`)
    .replaceAll("/run/secrets/countersign", folder.path)
    .replace("clientId: countersign", `clientId: ${clientId}`);
  folder.write("cert.pem", clientCertificate);
  folder.write("key.pem", key);
  folder.write("keycloak/token", assertion);
  const clientSecret = folder.secret("client-secret", secret);
  const caFile = folder.write("authority.pem", authority);
  // biome-ignore lint/suspicious/noExplicitAny: the schema reads it
  const written = readDocument(yaml).value as any;
  return {
    baseUrl,
    sites: { [site]: { credentials: [{ name: "blue", clientId, clientSecret }] } },
    ...written,
    token: { ...written.token, ...token },
    tls: { ...written.tls, caFile },
  };
}
