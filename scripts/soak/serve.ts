import { freePort } from "../../testkit/free-port.ts";
import type { Child, Children } from "../demo-fleet/children.ts";

export const command = "dist/main.js";

/** The built command, serving. */
export interface Serving {
  readonly port: number;
  readonly url: string;
  readonly adminUrl: string;
  readonly process: Child;
}

export interface ServeParts {
  readonly children: Children;
  /** Writes the configuration for this port, and says where it is. */
  readonly writeConfig: (port: number) => string;
  /** Receives each line of the log. */
  readonly onLine: (line: string) => void;
  /** Options of Node itself. */
  readonly nodeArgs?: readonly string[];
}

/** Another process may take a port between choosing and listening. */
const mostTries = 3;

/** @throws Error with what the process said, when it does not start */
export async function startServing(parts: ServeParts): Promise<Serving> {
  for (let tries = 1; ; tries++) {
    const started = await tryToStart(parts);
    if (typeof started !== "string") return started;
    if (tries === mostTries || !started.includes("cannot listen")) throw new Error(`it did not start: ${started}`);
  }
}

async function tryToStart({ children, writeConfig, onLine, nodeArgs = [] }: ServeParts): Promise<Serving | string> {
  const port = await freePort();
  let announce = (_: string) => {};
  const started = new Promise<{ readonly line: string }>((resolve) => {
    announce = (line) => resolve({ line });
  });
  const args = [...nodeArgs, command, "serve", "--config", writeConfig(port)];
  const child = await children.start(process.execPath, args, (line) => {
    if (line.includes('"event":"started"')) announce(line);
    onLine(line);
  });
  const first = await Promise.race([started, child.ended]);
  if (typeof first === "string") return `${first}. ${child.complaints()}`;
  const { adminBind }: { adminBind: string } = JSON.parse(first.line);
  return { port, url: `http://127.0.0.1:${port}`, adminUrl: `http://${adminBind}`, process: child };
}
