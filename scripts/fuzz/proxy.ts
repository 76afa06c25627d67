import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toYaml } from "../../src/config/yaml.ts";
import { freePort } from "../../testkit/free-port.ts";
import type { Child, Children } from "../demo-fleet/children.ts";
import type { Broken } from "./judge.ts";
import { LogWatch } from "./log-watch.ts";
import { secrets } from "./secrets.ts";
import type { Doors } from "./send.ts";

/** The built command as a process of its own. */
export interface ProxyProcess extends Doors {
  /** What it has said since it was last asked that it should not have; also that it is no more. */
  takeComplaints(): Broken[];
  /** Whether a line with this text comes; all lines before it have been looked at then. */
  whenLogged(text: string): Promise<boolean>;
  stop(): Promise<void>;
}

export const oauthSite = "S1000000001";
export const hmacSite = "S1000000003";
export const audience = "https://api.sandbox.example";
const mostTries = 5;

/** @throws Error with what the process said, when it does not start */
export async function startProxy(children: Children, baseUrl: string, authUrl: string): Promise<ProxyProcess> {
  for (let tries = 1; ; tries++) {
    const started = await tryToStart(children, baseUrl, authUrl);
    if (typeof started !== "string") return started;
    // Another process may take a port between choosing and listening.
    if (tries === mostTries || !started.includes("cannot listen"))
      throw new Error(`the proxy did not start: ${started}`);
  }
}

async function tryToStart(children: Children, baseUrl: string, authUrl: string): Promise<ProxyProcess | string> {
  const folder = mkdtempSync(join(tmpdir(), "countersign-fuzz-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const doors = { port: await freePort(), socketPath: join(folder, "app.sock") };
  const log = new LogWatch();
  const file = writeConfig(folder, doors, baseUrl, authUrl);
  const child = await children.start(process.execPath, ["dist/main.js", "serve", "--config", file], (line) =>
    log.add(line),
  );
  let end: string | undefined;
  void child.ended.then((how) => {
    end = how;
    log.close();
  });
  await log.whenLogged('"event":"started"');
  const stop = async () => {
    await child.end("SIGTERM");
    process.off("exit", remove);
    remove();
  };
  if (end !== undefined) {
    await stop();
    return child.complaints();
  }
  return {
    ...doors,
    takeComplaints: () => [...log.take(), ...sayEnd(end, child)],
    whenLogged: (text) => log.whenLogged(text),
    stop,
  };
}

function sayEnd(end: string | undefined, child: Child): Broken[] {
  if (end !== undefined) return [{ oracle: "process_ended", seen: `${end} ${child.complaints()}`.slice(0, 400) }];
  return child.complaints() === "" ? [] : [{ oracle: "complained", seen: child.complaints().slice(0, 400) }];
}

function writeConfig(folder: string, { port, socketPath }: Doors, baseUrl: string, authUrl: string): string {
  const write = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const clientSecret = { file: write("client-secret", secrets.clientSecret) };
  const key = { identifier: "K2000000001", secret: { file: write("api-secret", secrets.apiSecret) } };
  const sandbox = {
    baseUrl,
    authUrl,
    allowPlaintext: true,
    operations: ["create_order", "get_order"],
    defaultSite: oauthSite,
    sites: {
      [oauthSite]: { credentials: [{ name: "blue", clientId: "blue-id", clientSecret, audience }] },
      [hmacSite]: { keys: [key] },
    },
  };
  const config = {
    listeners: [`127.0.0.1:${port}`, `unix:${socketPath}`].map((bind) => ({ bind, environment: "sandbox" })),
    admin: { bind: "127.0.0.1:0" },
    status: { bind: "127.0.0.1:0" },
    environments: { sandbox },
  };
  return write("countersign.yaml", toYaml(config));
}
