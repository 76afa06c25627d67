import { onTestFinished } from "vitest";
import { start } from "../src/app/app.ts";
import { formatProblems } from "../src/config/diagnostics.ts";
import { loadConfig } from "../src/config/load.ts";
import { authority } from "./certificates.ts";
import { ConfigWriter, sandboxConfig } from "./config-writer.ts";
import { EventRecorder } from "./event-recorder.ts";

/** A folder of files, and a proxy in this process that serves by a configuration in it. */
export interface ConfiguredProxy {
  readonly url: string;
  readonly recorder: EventRecorder;
}

/**
 * Writes files and a configuration that names them, reads it as `serve` does, and serves. Ends with the test.
 * @param environment keys of the environment beside those that every one has; strings with `DIR` name files of the folder
 */
export async function startConfiguredProxy(
  environment: { readonly baseUrl: string; readonly sites: object; readonly [key: string]: unknown },
  files: Readonly<Record<string, string>>,
): Promise<ConfiguredProxy> {
  const folder = new ConfigWriter("proxy");
  onTestFinished(() => folder.remove());
  folder.write("authority.pem", authority);
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  const { authUrl, ...others } = environment;
  const sandbox = { ...others, ...(authUrl === undefined ? {} : { authUrl }) } as Parameters<typeof sandboxConfig>[1];
  const written = JSON.stringify(sandboxConfig(["127.0.0.1:0"], sandbox)).replaceAll("DIR", folder.path);
  const file = folder.config("countersign.yaml", JSON.parse(written));
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") throw new Error(formatProblems(file, loaded.problems));
  const recorder = new EventRecorder();
  const proxy = await start(loaded.config, { report: recorder.report });
  onTestFinished(async () => void (await proxy.stop("test")));
  const [listener] = proxy.binds.listeners;
  return { url: `http://127.0.0.1:${listener?.kind === "tcp" ? listener.port : 0}`, recorder };
}
