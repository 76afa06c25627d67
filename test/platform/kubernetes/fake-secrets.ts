import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { authority, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { tokenKey } from "../../../testkit/config-folder.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { run } from "./tools.ts";

/** Where secrets are mounted. */
export const mounted = "/run/secrets/countersign";

/** The result of `countersign check` for a configuration with all its secrets, as files that a group may read. */
export function check(configuration: string, env: Readonly<Record<string, string>> = {}) {
  const folder = emptyFolder();
  for (const { path, content } of secretsOf(configuration)) write(path.replace(mounted, folder), content);
  const file = join(folder, "countersign.yaml");
  writeFileSync(file, configuration.replaceAll(mounted, folder));
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const { stdout, stderr } = run("env", [
    ...settings,
    process.execPath,
    "dist/main.js",
    "check",
    "--json",
    "--config",
    file,
  ]);
  return JSON.parse(stdout === "" ? JSON.stringify({ valid: false, stderr }) : stdout);
}

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, 0o440);
}

/** Every mounted file that the configuration names, with a possible content. */
export function secretsOf(configuration: string): { readonly path: string; readonly content: string }[] {
  const found = new Map<string, string>();
  (function walk(value: unknown, key: string): void {
    if (typeof value === "object" && value !== null) {
      const isKey = key === "encryptionKeys";
      for (const [name, inner] of Object.entries(value)) walk(inner, Array.isArray(value) || isKey ? key : name);
    } else if (typeof value === "string" && `${value}/`.startsWith(`${mounted}/`)) {
      if (key !== "dir") found.set(value, contentOf(key, value));
      else
        for (const name of ["client-id", "client-secret", "audience"])
          found.set(`${value}/${name}`, `${name}-of-${basename(value)}`);
    }
  })(parse(configuration), "");
  return [...found].map(([path, content]) => ({ path, content }));
}

function contentOf(key: string, path: string): string {
  const known: Readonly<Record<string, string>> = {
    caFile: authority,
    certFile: serverCertificate,
    keyFile: serverKey,
    encryptionKeys: tokenKey,
  };
  return known[key] ?? `a-made-up-secret-${basename(path)}`.replace(/[^\w-]/g, "-");
}
