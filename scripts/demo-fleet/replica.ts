import type { RedisFailureKind, RefreshReason } from "../../src/model/events.ts";
import { freePort } from "../../testkit/free-port.ts";
import type { Child, Children } from "./children.ts";
import { command, type Folder, type Places } from "./folder.ts";
import { Refusal } from "./refusal.ts";

/** The lines of a replica's log that the story is told by, as `countersign serve` writes them. */
export type LogLine =
  | { readonly event: "started" }
  | { readonly event: "token_requested"; readonly reason: RefreshReason; readonly result: string }
  | { readonly event: "token_adopted"; readonly issuedHere: boolean }
  | { readonly event: "refresh_lock_tried"; readonly result: "acquired" | "held" | "unavailable" }
  | { readonly event: "redis_failed"; readonly failure: RedisFailureKind }
  | { readonly event: "redis_down" }
  | { readonly event: "redis_up" };

const told = /"event":"(started|token_requested|token_adopted|refresh_lock_tried|redis_failed|redis_down|redis_up)"/;

/** One proxy process: the built command, as a user starts it. */
export interface Replica {
  readonly name: string;
  readonly url: string;
  readonly process: Child;
}

export interface ReplicaParts {
  readonly children: Children;
  readonly folder: Folder;
  readonly places: Places;
  readonly onLine: (replica: string, line: LogLine) => void;
}

/** Another process may take a port between choosing and listening. */
const mostTries = 3;

/** @throws Refusal with what the process said, when it does not start */
export async function startReplica(name: string, parts: ReplicaParts): Promise<Replica> {
  for (let tries = 1; ; tries++) {
    const started = await tryToStart(name, parts);
    if ("url" in started) return started;
    const { end, complaints } = started;
    if (tries === mostTries || !complaints.includes("cannot listen")) {
      throw new Refusal(`Replica ${name} did not start (${end}). ${complaints}`);
    }
  }
}

async function tryToStart(
  name: string,
  { children, folder, places, onLine }: ReplicaParts,
): Promise<Replica | { readonly end: string; readonly complaints: string }> {
  const port = await freePort();
  const file = folder.writeConfig(name, port, places);
  let announce = () => {};
  const started = new Promise<undefined>((resolve) => {
    announce = () => resolve(undefined);
  });
  const child = await children.start(process.execPath, [command, "serve", "--config", file], (text) => {
    if (!told.test(text)) return;
    const line: LogLine = JSON.parse(text);
    if (line.event === "started") announce();
    onLine(name, line);
  });
  const end = await Promise.race([started, child.ended]);
  if (end !== undefined) return { end, complaints: child.complaints() };
  return { name, url: `http://127.0.0.1:${port}`, process: child };
}
