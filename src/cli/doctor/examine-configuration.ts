import type { Config } from "../../config/config.ts";
import { type Check, ok, warn } from "./check.ts";
import type { Run } from "./run.ts";

/** What loading it has shown. A file that cannot be read is no warning: the configuration is refused for it. */
export function examineConfiguration({ file, config, warnings }: Run): Check[] {
  const { environments, listeners, hash } = config;
  const about = { topic: "config" as const, tookMs: 0 };
  const counts = `${count(environments.size, "environment")}, ${count(listeners.length, "listener")}`;
  return [
    { ...about, subject: file, ...ok(`${counts}, hash ${hash}`) },
    { ...about, subject: "secrets", ...ok(`${describeOrigins(config)}, as ${describeUser()}`) },
    ...warnings.map(({ path, line, message, fix }) => {
      return { ...about, subject: path === "" ? file : `${path} (line ${line})`, ...warn(message, fix) };
    }),
  ];
}

function describeOrigins({ secretOrigins }: Config): string {
  const origins = new Set(secretOrigins?.values());
  const files = [...origins].filter((origin) => origin.startsWith("file ")).length;
  const variables = origins.size - files;
  const parts = [
    ...(files > 0 || variables === 0 ? [`${count(files, "file")}`] : []),
    ...(variables > 0 ? [`${count(variables, "environment variable")}`] : []),
  ];
  return `read from ${parts.join(" and ")}`;
}

/** By number: an image without a shell has no names either. */
function describeUser(): string {
  const { getuid, getgid } = process;
  return getuid === undefined || getgid === undefined ? "this user" : `user ${getuid()}, group ${getgid()}`;
}

function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
