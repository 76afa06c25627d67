import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RefreshReason } from "../../src/model/events.ts";
import { scrape } from "../../testkit/exposition.ts";
import { type Child, type Children, startServing } from "../../testkit/processes.ts";
import { type Folder, type TokenTimeout, tokenTimeouts } from "./folder.ts";
import type { Snapshot } from "./growth.ts";
import { measureHeap } from "./inspector.ts";
import type { Logged } from "./order.ts";

/** The lines of a replica's log that the soak listens to. */
export type LogLine =
  | ({ readonly event: "request_finished"; readonly reference?: string } & Logged)
  | { readonly event: "token_requested"; readonly reason: RefreshReason; readonly result: string }
  | { readonly event: "defect"; readonly error: string };

const longestReloadMs = 10_000;

const told = /"event":"(request_finished|token_requested|defect)"/;

/** One proxy process: the built command, with Node's inspector open so that its garbage can be collected from here. */
export interface Replica {
  readonly name: string;
  readonly url: string;
  readonly adminUrl: string;
  readonly process: Child;
  /** Gives it another configuration. Resolves to whether it has taken it up in time (row 54), or ended. */
  reconfigure(tokenTimeout: TokenTimeout): Promise<boolean>;
  /** Open file descriptors, as the process counts them. */
  countDescriptors(): Promise<number>;
  takeSnapshot(): Promise<Snapshot>;
}

export interface ReplicaParts {
  readonly children: Children;
  readonly folder: Folder;
  /** A folder in which the logs are kept. */
  readonly logs: string | undefined;
  readonly onLine: (replica: string, line: LogLine) => void;
}

/** @throws Error with what the process said, when it does not start */
export async function startReplica(name: string, { children, folder, logs, onLine }: ReplicaParts): Promise<Replica> {
  if (logs !== undefined) mkdirSync(logs, { recursive: true });
  const copy = logs === undefined ? undefined : createWriteStream(join(logs, `${name}.log`));
  let onApplied = () => {};
  const serving = await startServing({
    children,
    writeConfig: (port) => folder.writeConfig(name, port, tokenTimeouts[0]),
    nodeArgs: ["--inspect=127.0.0.1:0"],
    onLine: (text) => {
      copy?.write(`${text}\n`);
      if (text.includes('"event":"config_applied"')) onApplied();
      if (told.test(text)) onLine(name, JSON.parse(text));
    },
  });
  const { port, url, adminUrl, process: child } = serving;
  const [inspectorUrl = ""] = /ws:\S+/.exec(child.complaints()) ?? [];
  return {
    name,
    url,
    adminUrl,
    process: child,
    reconfigure(tokenTimeout) {
      const applied = new Promise<void>((resolve) => {
        onApplied = resolve;
      });
      folder.writeConfig(name, port, tokenTimeout);
      process.kill(child.pid, "SIGHUP");
      return Promise.race([
        Promise.race([applied, child.ended]).then(() => true),
        sleep(longestReloadMs, false, { ref: false }),
      ]);
    },
    countDescriptors: async () => (await scrape(adminUrl)).value("process_open_fds") ?? Number.NaN,
    takeSnapshot: () => takeSnapshot(adminUrl, inspectorUrl),
  };
}

async function takeSnapshot(adminUrl: string, inspectorUrl: string): Promise<Snapshot> {
  // Before the collection, which holds the loop up itself.
  const metrics = await scrape(adminUrl);
  const heapBytes = await measureHeap(inspectorUrl);
  return {
    atMs: performance.now(),
    heapBytes,
    residentBytes: metrics.value("process_resident_memory_bytes") ?? Number.NaN,
    descriptors: metrics.value("process_open_fds") ?? Number.NaN,
    loopDelayP99Ms: (metrics.value("nodejs_eventloop_lag_p99_seconds") ?? Number.NaN) * 1_000,
  };
}
