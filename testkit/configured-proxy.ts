import { onTestFinished } from "vitest";
import { start } from "../src/app/app.ts";
import type { Config } from "../src/config/config.ts";
import { formatProblems } from "../src/config/diagnostics.ts";
import { loadConfig } from "../src/config/load.ts";
import type { Bind } from "../src/model/listener.ts";
import { authority } from "./certificates.ts";
import { ConfigWriter, sandboxConfig, type WrittenEnvironment } from "./config-writer.ts";
import { EventRecorder } from "./event-recorder.ts";

/**
 * A proxy in this process that serves by a configuration file. Writes the files and the configuration, loads it as `serve` does, and serves. Ends with the test. `DIR` in a string of the
 * environment stands for the folder of the files.
 */
export async function startConfiguredProxy(environment: WrittenEnvironment, files: Readonly<Record<string, string>>) {
  const folder = new ConfigWriter("proxy");
  onTestFinished(() => folder.remove());
  folder.write("authority.pem", authority);
  for (const [name, content] of Object.entries(files)) folder.write(name, content);
  const recorder = new EventRecorder();
  const proxy = await start(await load(folder, environment), { report: recorder.report });
  onTestFinished(async () => void (await proxy.stop("test")));
  const urlOf = (bind: Bind | undefined) => `http://127.0.0.1:${bind?.kind === "tcp" ? bind.port : 0}`;
  return {
    url: urlOf(proxy.binds.listeners[0]),
    statusUrl: urlOf(proxy.binds.status),
    adminUrl: urlOf(proxy.binds.admin),
    recorder,
    /** Writes the changed configuration, and applies it as SIGHUP does. */
    async reload(changed: WrittenEnvironment) {
      await proxy.apply(await load(folder, changed), "sighup");
    },
  };
}

async function load(folder: ConfigWriter, environment: WrittenEnvironment): Promise<Config> {
  const written = JSON.stringify(sandboxConfig(["127.0.0.1:0"], environment)).replaceAll("DIR", folder.path);
  const file = folder.config("countersign.yaml", JSON.parse(written));
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") throw new Error(formatProblems(file, loaded.problems));
  return loaded.config;
}
