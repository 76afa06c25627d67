import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { authority, serverCertificate, serverKey } from "../../testkit/certificates.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { type Child, Children } from "../../testkit/processes.ts";
import { plainEnvironment, versionOf } from "../../testkit/run-program.ts";
import { tools } from "./try-with.ts";

const distribution = `${tools}/keycloak-26.4.0`;
const realm = "payments";
const bootstrap = { KC_BOOTSTRAP_ADMIN_CLIENT_ID: "admin", KC_BOOTSTRAP_ADMIN_CLIENT_SECRET: "canary-admin-secret" };
/** Keycloak's exit code after it has rebuilt itself: it must be started again. */
const rebuilt = "exit code 10";

/** A client, as in the realm's file. */
export interface Client {
  readonly clientId: string;
  readonly [key: string]: unknown;
}

/** The issuer of a platform's tokens, such as a cluster. */
export interface Platform {
  readonly issuer: string;
  readonly keysUrl: string;
}

/** Keycloak in development mode, with a realm of these clients, on a copy of its distribution. */
export class Keycloak {
  readonly #children = new Children();
  readonly #folder = new ConfigWriter("keycloak");
  readonly #ports: { readonly http: number; readonly https: number };
  #server: Child | undefined;

  /** @param platform whose tokens prove clients of `federated-jwt`: its issuer, and the address of its keys */
  static async start(clients: readonly Client[], platform?: Platform): Promise<Keycloak> {
    const keycloak = new Keycloak({ http: await freePort(), https: await freePort() }, clients, platform);
    await keycloak.start();
    return keycloak;
  }

  private constructor(
    ports: { readonly http: number; readonly https: number },
    clients: readonly Client[],
    platform: Platform | undefined,
  ) {
    this.#ports = ports;
    cpSync(distribution, this.#folder.path, { recursive: true });
    mkdirSync(join(this.#folder.path, "data"));
    this.#folder.write(`data/import/${realm}.json`, JSON.stringify(describeRealm(clients, platform)));
    for (const [name, pem] of Object.entries({ authority, serverCertificate, serverKey })) {
      this.#folder.write(`${name}.pem`, pem);
    }
  }

  /** The address that replaces the page's `https://keycloak.example`. */
  get origin(): string {
    return `https://localhost:${this.#ports.https}`;
  }

  /** `iss` of Keycloak's tokens. */
  get issuer(): string {
    return `${this.origin}/realms/${realm}`;
  }

  get keysUrl(): URL {
    return new URL(`http://127.0.0.1:${this.#ports.http}/realms/${realm}/protocol/openid-connect/certs`);
  }

  /** Resolves when Keycloak listens; after a stop, starts it again with its former state. */
  async start(): Promise<void> {
    if ((await this.#run(false)) === rebuilt) await this.#run(true);
    if (this.#server === undefined) throw new Error("Keycloak did not start");
  }

  async stop(): Promise<void> {
    await this.#server?.end("SIGTERM");
    this.#server = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    this.#folder.remove();
  }

  /** Calls Keycloak's admin REST API, below the realm. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async admin(method: string, path: string, body?: object): Promise<any> {
    const url = `http://127.0.0.1:${this.#ports.http}`;
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: bootstrap.KC_BOOTSTRAP_ADMIN_CLIENT_ID,
      client_secret: bootstrap.KC_BOOTSTRAP_ADMIN_CLIENT_SECRET,
    });
    const login = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: "POST", body: form });
    const { access_token: token } = (await login.json()) as { access_token: string };
    const response = await fetch(`${url}/admin/realms/${realm}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** Changes some fields of a client. */
  async change(clientId: string, fields: object): Promise<void> {
    const [client] = await this.admin("GET", `/clients?clientId=${clientId}`);
    await this.admin("PUT", `/clients/${client.id}`, { ...client, ...fields });
  }

  /** How many tokens a client has got, by Keycloak's own events. */
  async issued(clientId: string): Promise<number> {
    return (await this.admin("GET", `/events?type=CLIENT_LOGIN&client=${clientId}&max=1000`)).length;
  }

  /** Signs with a new key from now on. The old keys still verify until the returned function has removed them. */
  async rollKeys(): Promise<() => Promise<void>> {
    const providers = "org.keycloak.keys.KeyProvider";
    const old: { id: string; providerId: string }[] = await this.admin("GET", `/components?type=${providers}`);
    const config = { priority: ["1000"], algorithm: ["RS256"] };
    const key = { name: `rolled-${old.length}`, providerId: "rsa-generated", providerType: providers, config };
    await this.admin("POST", "/components", key);
    return async () => {
      for (const { id, providerId } of old) {
        if (providerId === "rsa-generated") await this.admin("DELETE", `/components/${id}`);
      }
    };
  }

  /** Starts a process. Returns how it ended if it ends, undefined once it listens. */
  async #run(isBuilt: boolean): Promise<string | undefined> {
    const home = this.#folder.path;
    const inJava = [
      "-Xmx512m",
      "-XX:TieredStopAtLevel=1",
      `-Dkc.config.built=${isBuilt}`,
      `-Dkc.home.dir=${home}`,
      `-Djboss.server.config.dir=${home}/conf`,
      "-Djava.util.logging.manager=org.jboss.logmanager.LogManager",
      "-cp",
      `${home}/lib/quarkus-run.jar`,
      "io.quarkus.bootstrap.runner.QuarkusEntryPoint",
    ];
    const inKeycloak = [
      "start-dev",
      "--import-realm",
      "--features=client-auth-federated",
      `--hostname=${this.origin}`,
      "--http-host=127.0.0.1",
      `--http-port=${this.#ports.http}`,
      `--https-port=${this.#ports.https}`,
      "--https-client-auth=request",
      `--https-certificate-file=${home}/serverCertificate.pem`,
      `--truststore-paths=${home}/authority.pem`,
      `--https-certificate-key-file=${home}/serverKey.pem`,
    ];
    let announce = () => {};
    const listening = new Promise<undefined>((resolve) => {
      announce = () => resolve(undefined);
    });
    const env = plainEnvironment(bootstrap);
    const isListening = (line: string) => line.includes("Listening on");
    const onLine = (line: string) => (isListening(line) ? announce() : undefined);
    const server = await this.#children.start("java", [...inJava, ...inKeycloak], onLine, { cwd: home, env });
    const end = await Promise.race([listening, server.ended]);
    if (end === undefined) this.#server = server;
    return end;
  }
}

/** Undefined if Keycloak has not been fetched. */
export function keycloakVersion(): string | undefined {
  return versionOf(/^Keycloak (\S+)$/m, `${distribution}/bin/kc.sh`, "--version");
}

function describeRealm(clients: readonly Client[], platform: Platform | undefined): object {
  const common = { publicClient: false, standardFlowEnabled: false, serviceAccountsEnabled: true };
  return {
    realm,
    enabled: true,
    accessTokenLifespan: 300,
    eventsEnabled: true,
    enabledEventTypes: ["CLIENT_LOGIN", "CLIENT_LOGIN_ERROR"],
    clientScopes: [{ name: "orders", protocol: "openid-connect", attributes: { "include.in.token.scope": "true" } }],
    identityProviders: platform === undefined ? [] : [describeProvider(platform)],
    clients: clients.map((client) => ({ ...common, optionalClientScopes: ["orders"], ...client })),
  };
}

/** An identity provider of kind OpenID Connect, with *Supports client assertions* and *Allow client assertion reuse*. */
function describeProvider({ issuer, keysUrl }: Platform): object {
  const unused = { clientId: "unused", clientSecret: "unused", authorizationUrl: issuer, tokenUrl: issuer };
  const keys = { validateSignature: "true", useJwksUrl: "true", jwksUrl: keysUrl };
  const assertions = { supportsClientAssertions: "true", supportsClientAssertionReuse: "true" };
  return {
    alias: "platform",
    providerId: "oidc",
    enabled: true,
    config: { issuer, ...unused, ...keys, ...assertions },
  };
}
