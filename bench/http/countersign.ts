import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { imageOptions } from "../../testkit/image-options.ts";
import { key, site } from "./job.mjs";
import { isThere, type Place, type Program, type Running, startProgram } from "./program.ts";

const root = join(import.meta.dirname, "../..");
const main = join(root, "dist/main.js");

/** The built command, started as in its image, within this memory. */
export function imageCommand(node: string, memoryBytes: number): Program {
  const startImage: Program["start"] = (at) => {
    const app = join(at.folder, "app");
    for (const name of ["package.json", "dist"]) cpSync(join(root, name), join(app, name), { recursive: true });
    execFileSync(node, [join(root, "scripts/code-cache.mjs"), join(app, "dist")]);
    return start(at, "hmac", { command: [node, ...imageOptions(memoryBytes), join(app, "dist/main.js")] });
  };
  return { name: "Countersign", job: "hmac", isInstalled: () => true, start: startImage };
}

/** The built command, with HMAC and with OAuth. */
export const countersign: readonly Program[] = [
  { name: "Countersign HMAC", job: "hmac", isInstalled: () => true, start: (at) => start(at, "hmac") },
  {
    name: "Countersign HMAC one of 1000 sites",
    job: "hmac",
    isInstalled: () => true,
    start: (at) => start(at, "hmac", { sites: 1_000 }),
  },
  { name: "Countersign OAuth", job: "oauth", isInstalled: () => true, start: (at) => start(at, "oauth") },
  {
    name: "Countersign OAuth Redis",
    job: "oauth",
    isInstalled: () => isThere("redis-server"),
    start: (at) => start(at, "oauth", { isShared: true }),
  },
];

async function start(
  { port, service, cpu, folder }: Place,
  method: "hmac" | "oauth",
  { isShared = false, sites = 1, command = [process.execPath, main] } = {},
): Promise<Running> {
  const redis = isShared ? await startRedis(port + 2, folder) : undefined;
  const secret = (name: string, value: string) => {
    const file = join(folder, name);
    writeFileSync(file, value, { mode: 0o600 });
    return { file };
  };
  const authOf = (index: number) =>
    method === "hmac"
      ? { keys: [{ identifier: `K${1_000_000_001 + index}`, secret: secret(`key-${index}`, key) }] }
      : {
          credentials: [{ name: "blue", clientId: "c", clientSecret: secret("secret", "s".repeat(32)), audience: "a" }],
        };
  const environment = {
    baseUrl: `http://127.0.0.1:${service.port}/json-api`,
    ...(method === "oauth" ? { authUrl: `http://127.0.0.1:${service.authPort}` } : {}),
    allowPlaintext: true,
    operations: ["create_order"],
    forwardHeaders: ["bench-job"],
    defaultSite: site,
    sites: Object.fromEntries(
      Array.from({ length: sites }, (_, index) => [`S${1_000_000_001 + index}`, authOf(index)]),
    ),
  };
  const config = {
    listeners: [{ bind: `127.0.0.1:${port}`, environment: "bench" }],
    admin: { bind: "127.0.0.1:0" },
    status: { bind: "127.0.0.1:0" },
    environments: { bench: environment },
    ...(isShared
      ? {
          tokens: { cache: "redis" },
          redis: {
            url: `redis://127.0.0.1:${port + 2}/0`,
            encryptionKeys: [secret("token-key", randomBytes(32).toString("hex"))],
          },
        }
      : {}),
  };
  const file = join(folder, "countersign.yaml");
  writeFileSync(file, JSON.stringify(config));
  const proxy = await startProgram([...command, "serve", "--config", file], { port, cpu });
  return {
    ...proxy,
    stop: async () => {
      await proxy.stop();
      await redis?.stop();
    },
  };
}

function startRedis(port: number, folder: string): Promise<Running> {
  return startProgram(["redis-server", "--port", String(port), "--save", "", "--dir", folder], {
    port,
    cpu: { number: 1 },
  });
}
