import { connect } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { call, get, order } from "../../../testkit/call.ts";
import { ConfigFolder, tokenKey } from "../../../testkit/config-folder.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { audience, canaries, hmacSite, oauthSite, simulatedSites } from "../../../testkit/simulated-sites.ts";
import { Mount } from "./mount.ts";

export { audience, hmacSite, oauthSite } from "../../../testkit/simulated-sites.ts";

/** Sets of credentials, as a site lists them. */
export const blueSet = "{ name: blue, dir: DIR/mounts/blue }";
export const greenSet = `{ name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "${audience}" }`;
/** Listeners: the pod's own, whose port is written in place of `PORT`, and one at another port. */
export const ownListener = '{ bind: "127.0.0.1:PORT", environment: sandbox }';
export const listenerAt = (port: number) => `{ bind: "127.0.0.1:${port}", environment: sandbox }`;

/** The settings that a test may change, in YAML; the whole file is written from them. */
const usual = {
  listeners: [ownListener] as readonly string[],
  oauthKeys: `credentials: [ ${blueSet} ]`,
  hmacKeys: "keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]",
  /** In place of the default site and both sites. */
  sites: undefined as string | undefined,
  more: "",
};

type Settings = typeof usual;

/** A changed file must be in use within this time. */
const takenUpMs = 10_000;

export interface PodOptions {
  readonly settings?: Partial<Settings>;
  readonly simulator?: Partial<SimulatorOptions>;
  /** Further files, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** How the command is started. */
  readonly serve?: Parameters<typeof startServe>[1];
}

export type Pod = Awaited<ReturnType<typeof startPod>>;

/** The built command with its files mounted as in a pod, and the simulator behind it. Both end with the test. */
export async function startPod({ settings, simulator: simulated, files, serve }: PodOptions = {}) {
  const simulator = await startSimulator({ sites: simulatedSites, ...simulated });
  onTestFinished(() => simulator.stop());
  const folder = new ConfigFolder(files);
  const blue = new Mount(join(folder.path, "mounts/blue"), {
    "client-id": "blue-id\n",
    "client-secret": `${canaries.blue}\n`,
    audience: `${audience}\n`,
  });
  const port = await freePort();
  const yaml = (change: Partial<Settings> = {}) =>
    describe({ ...usual, ...settings, ...change }, simulator)
      .replaceAll("DIR", folder.path)
      .replaceAll("PORT", String(port));
  const config = new Mount(join(folder.path, "mounts/config"), { "countersign.yaml": yaml() });
  const program = await startServe(join(config.path, "countersign.yaml"), serve);
  const agent = keepAlive();
  const { adminUrl, statusUrl, events: lines, nth } = program;
  const url = `http://127.0.0.1:${port}`;
  return {
    simulator,
    program,
    port,
    url,
    adminUrl,
    statusUrl,
    /** Holds client-id, client-secret and audience. */
    blue,
    /** Holds countersign.yaml. */
    config,
    folder,
    /** The configuration file's text with these settings changed. */
    yaml,
    /** Writes the configuration anew, from settings or as a whole, and waits for the n-th line with its result. */
    apply(configuration: Partial<Settings> | string, n: number, event = "config_applied") {
      config.update({ "countersign.yaml": typeof configuration === "string" ? configuration : yaml(configuration) });
      return nth(event, n);
    },
    /** Changes something, and waits for the n-th line with the result, which must come in time. */
    async told(event: string, n: number, change: () => void) {
      const sinceMs = performance.now();
      change();
      const line = await nth(event, n);
      expect(performance.now() - sinceMs).toBeLessThan(takenUpMs);
      return line;
    },
    /** An order on a kept connection. */
    order: (headers: Readonly<Record<string, string>> = {}) => call(url, order, { agent, headers }),
    metrics: () => scrape(adminUrl),
    status: async () => (await get(statusUrl, "/status")).json,
    lines,
    nth,
  };
}

function describe(settings: Settings, { apiUrl, loginUrl }: Simulator): string {
  const usualSites = `defaultSite: ${oauthSite}
    sites:
      ${oauthSite}: { ${settings.oauthKeys} }
      ${hmacSite}: { ${settings.hmacKeys} }`;
  return `listeners: [ ${settings.listeners.join(", ")} ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${apiUrl}
    authUrl: ${loginUrl}
    allowPlaintext: true
    operations: [create_order]
    ${settings.sites ?? usualSites}
${settings.more}
`;
}

/** Writes the files with which this pod logs in to Redis; returns the settings with which it shares tokens there. */
export function sharingAt(redis: RealRedis, { folder }: Pod): string {
  folder.write("token-key", tokenKey);
  folder.write("password", aclUser.password);
  const access = `username: ${aclUser.username}, password: { file: DIR/password }, encryptionKeys: [ { file: DIR/token-key } ]`;
  return `tokens: { cache: redis }\nredis: { url: ${redis.url}, ${access} }`;
}

/** `open`, or the code of the error. */
export function knock(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  return new Promise((resolve) => {
    socket.on("connect", () => resolve("open"));
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
  });
}
