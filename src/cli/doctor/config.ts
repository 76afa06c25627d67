import type { Config } from "../../config/config.ts";
import { type Check, ok, type Run, warn } from "./check.ts";

/** What loading the configuration has shown. A file that cannot be read is no warning: the configuration is refused. */
export function checkConfig({ file, config, warnings }: Run): Check[] {
  const { environments, listeners, hash } = config;
  const counts = `${count(environments.size, "environment")}, ${count(listeners.length, "listener")}`;
  const results = [
    { subject: file, ...ok(`${counts}, hash ${hash}`) },
    { subject: "secrets", ...ok(`${describeOrigins(config)}, as ${describeUser()}`) },
    ...warnings.map(({ path, line, message, fix }) => {
      return { subject: path === "" ? file : `${path} (line ${line})`, ...warn(message, fix) };
    }),
  ];
  return results.map((result) => ({ topic: "config", ...result, tookMs: 0 }));
}

function describeOrigins({ secretOrigins }: Config): string {
  const origins = [...new Set(secretOrigins?.values())];
  const files = origins.filter((origin) => origin.startsWith("file ")).length;
  const variables = origins.length - files;
  if (variables === 0) return `read from ${count(files, "file")}`;
  return `read from ${files > 0 ? `${count(files, "file")} and ` : ""}${count(variables, "environment variable")}`;
}

/** By number: an image without a shell has no names. */
function describeUser(): string {
  const { getuid, getgid } = process;
  return getuid === undefined || getgid === undefined ? "this user" : `user ${getuid()}, group ${getgid()}`;
}

function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? "" : "s"}`;
}
