import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigWriter, sandboxConfig } from "../../testkit/config-writer.ts";
import { type Child, type Children, startServing } from "../../testkit/processes.ts";
import { oauthSite, oneOfEachMethod } from "../../testkit/simulated-sites.ts";
import { type Broken, canary } from "./judge.ts";
import type { Doors } from "./send.ts";

/** The built command as a separate process. */
export interface ProxyProcess extends Doors {
  /** Its wrong output since the last call, and whether the process has ended. */
  takeComplaints(): Broken[];
  /** Whether a line with this text comes; by then all lines before it are judged. */
  whenLogged(text: string): Promise<boolean>;
  stop(): Promise<void>;
}

const patienceMs = 15_000;

/** @throws Error with the process's output, if it does not start */
export async function startProxy(children: Children, baseUrl: string, authUrl: string): Promise<ProxyProcess> {
  const writer = new ConfigWriter("fuzz");
  const socketPath = join(writer.path, "app.sock");
  const operations = ["create_order", "get_order"];
  const sandbox = { baseUrl, authUrl, operations, defaultSite: oauthSite, sites: writer.sites(oneOfEachMethod) };
  const writeConfig = (port: number) =>
    writer.config("countersign.yaml", sandboxConfig([`127.0.0.1:${port}`, `unix:${socketPath}`], sandbox));
  let broken: Broken[] = [];
  const waiting = new Map<string, (isLogged: true) => void>();
  const onLine = (line: string) => {
    broken.push(...judgeLine(line));
    for (const [text, wake] of waiting) if (line.includes(text)) wake(true);
  };
  const { port, process: child } = await startServing({ children, writeConfig, onLine });
  let end: string | undefined;
  void child.ended.then((how) => {
    end = how;
  });
  return {
    port,
    socketPath,
    takeComplaints() {
      const taken = [...broken, ...sayEnd(end, child)];
      broken = [];
      return taken;
    },
    async whenLogged(text) {
      const logged = new Promise<true>((resolve) => waiting.set(text, resolve));
      const isLogged = await Promise.race([logged, child.ended, sleep(patienceMs, false, { ref: false })]);
      waiting.delete(text);
      return isLogged === true;
    },
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

/** Every line of a log is an object, without a defect or a secret. */
export function judgeLine(line: string): Broken[] {
  const broken: Broken[] = [];
  if (line.includes(canary)) broken.push({ oracle: "secret_in_log", seen: "a log line" });
  try {
    const { event, where, error } = JSON.parse(line);
    if (event === "defect") broken.push({ oracle: "defect_logged", seen: `${where}: ${error}`.slice(0, 400) });
    if (typeof event !== "string") broken.push({ oracle: "log_malformed", seen: "a line without an event" });
  } catch {
    broken.push({ oracle: "log_malformed", seen: "a line that is not JSON" });
  }
  return broken;
}
