import { join } from "node:path";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { type Child, type Children, startServing } from "../../testkit/processes.ts";
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

/** @throws Error with what the process said, when it does not start */
export async function startProxy(children: Children, baseUrl: string, authUrl: string): Promise<ProxyProcess> {
  const writer = new ConfigWriter("fuzz");
  const socketPath = join(writer.path, "app.sock");
  const log = new LogWatch();
  const sandbox = describeSandbox(writer, baseUrl, authUrl);
  const writeConfig = (port: number) =>
    writer.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`, `unix:${socketPath}`], sandbox));
  const { port, process: child } = await startServing({ children, writeConfig, onLine: (line) => log.add(line) });
  let end: string | undefined;
  void child.ended.then((how) => {
    end = how;
    log.close();
  });
  return {
    port,
    socketPath,
    takeComplaints: () => [...log.take(), ...sayEnd(end, child)],
    whenLogged: (text) => log.whenLogged(text),
    async stop() {
      await child.end("SIGTERM");
      writer.remove();
    },
  };
}

function sayEnd(end: string | undefined, child: Child): Broken[] {
  if (end !== undefined) return [{ oracle: "process_ended", seen: `${end} ${child.complaints()}`.slice(0, 400) }];
  return child.complaints() === "" ? [] : [{ oracle: "complained", seen: child.complaints().slice(0, 400) }];
}

function describeSandbox(writer: ConfigWriter, baseUrl: string, authUrl: string) {
  const clientSecret = writer.secret("client-secret", secrets.clientSecret);
  const key = { identifier: "K2000000001", secret: writer.secret("api-secret", secrets.apiSecret) };
  const sites = {
    [oauthSite]: { credentials: [{ name: "blue", clientId: "blue-id", clientSecret, audience }] },
    [hmacSite]: { keys: [key] },
  };
  return { baseUrl, authUrl, operations: ["create_order", "get_order"], defaultSite: oauthSite, sites };
}
