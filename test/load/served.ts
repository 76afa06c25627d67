import { onTestFinished } from "vitest";
import { ConfigFolder, canaries } from "../../testkit/config-folder.ts";
import { freePort } from "../../testkit/free-port.ts";
import { type KernelLimits, limitProcesses } from "../../testkit/kernel-limits.ts";
import { rawAnswer, startRawUpstream } from "../../testkit/raw-upstream.ts";
import { startServe } from "../../testkit/run-program.ts";

export interface ServedOptions {
  /** How long the service takes, for all or for its n-th order. */
  readonly answerMs?: number | ((n: number) => number);
  /** Default: a small order. */
  readonly answerText?: string;
  /** After how long the service closes an idle connection; default: never. */
  readonly idleMs?: number;
  /** Further top-level keys, in YAML. */
  readonly more?: string;
}

/** The built command with one signing site, and a service behind it that answers after a while. Both end with the test. */
export async function startServed(options: ServedOptions = {}) {
  const { answerMs = 0, answerText = '{"order_id":"order_1"}', idleMs = 0, more = "" } = options;
  const bytes = rawAnswer(200, answerText);
  const msOf = typeof answerMs === "number" ? () => answerMs : answerMs;
  const upstream = await startRawUpstream({
    accept: (socket) => socket.setTimeout(idleMs, () => socket.end()),
    answer: ({ number }, socket) => void setTimeout(() => socket.writable && socket.write(bytes), msOf(number)),
  });
  const port = await freePort();
  const program = await startServe(writeServed(upstream.url, `127.0.0.1:${port}`, more));
  return { ...program, port, url: `http://127.0.0.1:${port}`, upstream };
}

/** Writes a configuration with one signing site, which needs no authorization server; returns its file. */
export function writeServed(upstreamUrl: string, bind: string, more: string, adminBind = "127.0.0.1:0"): string {
  const folder = new ConfigFolder();
  folder.write("key", canaries.key);
  const yaml = `listeners: [ { bind: "${bind}", environment: sandbox } ]
admin: { bind: "${adminBind}" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${upstreamUrl}
    authUrl: http://127.0.0.1:1
    allowPlaintext: true
    operations: [create_order]
    defaultSite: S1000000003
    sites: { S1000000003: { keys: [ { identifier: K2000000001, secret: { file: DIR/key } } ] } }
tokens: { cache: memory }
${more}
`;
  return folder.write("served.yaml", yaml.replaceAll("DIR", folder.path));
}

/** A limit that ends with the test; undefined if this process may not set one. Call it before starting a process within it. */
export function limitMemory(memoryBytes: number): KernelLimits | undefined {
  const limits = limitProcesses({ memoryBytes });
  if (limits !== undefined) onTestFinished(limits.remove);
  return limits;
}
