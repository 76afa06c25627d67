import type { X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from "jose";
import { expect, onTestFinished } from "vitest";
import { readDocument } from "../../src/config/files/yaml.ts";
import { authority, clientCertificate, clientKey, serverCertificate, serverKey } from "../../testkit/certificates.ts";
import { type ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { listen } from "../../testkit/listen.ts";
import { Load } from "../../testkit/load.ts";
import { recipeOf } from "../../testkit/recipes.ts";
import { startServe } from "../../testkit/run-program.ts";
import { labelOf, sendOrder, type Told } from "../../testkit/send-order.ts";
import type { Keycloak } from "./keycloak.ts";

/** A secret that is changed by every encoding of a form. */
export const secret = "canary 100% of+a/secret:&";

export const site = "S1000000001";

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

/** The built command, serving by this environment; ends with the test. */
export async function serve(environment: ReturnType<typeof environmentOf>, folder: ConfigWriter, more = {}) {
  const port = await freePort();
  const config = sandboxConfig([`127.0.0.1:${port}`], environment, more);
  const file = folder.config(`countersign-${port}.yaml`, config);
  return { ...(await startServe(file)), file, url: `http://127.0.0.1:${port}` };
}

/** A steady stream of orders to these replicas, and the results that their callers got. */
export function startOrders(urls: readonly string[], perSecond: number) {
  const told = new Map<string, Told>();
  const load = new Load({
    mostAtOnce: perSecond,
    async order({ pool }, turn) {
      const reference = `order-${turn}`;
      told.set(reference, (await sendOrder(pool, { reference, site })).told);
    },
  });
  for (const url of urls) load.add(url, url);
  onTestFinished(() => load.close());
  load.start(perSecond);
  const references = (wanted: string | undefined) =>
    [...told].filter(([, each]) => labelOf(each) === wanted).map(([reference]) => reference);
  return {
    stop: () => load.stop(),
    /** How many orders so far had this result; undefined means created. */
    count: (label?: string) => references(label).length,
    /** Checks that each order was created once, or had this result and was not created. */
    expectEachAsTold(executed: readonly string[], label?: string) {
      expect(executed.toSorted()).toEqual(references(undefined).toSorted());
      const labels = new Set([...told.values()].map(labelOf));
      expect(labels).toEqual(new Set([undefined, label]));
    },
    /** Orders that were sent a second time after a 401. */
    get retried() {
      return [...told.values()].filter((each) => each.kind === "answered" && each.attempts === 2).length;
    },
  };
}
