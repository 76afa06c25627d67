import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { imageOptions, imageVariables } from "../../testkit/image-options.ts";
import { type Job, key, site } from "./job.mjs";
import { authorityFile, isThere, type Place, type Program, type Running, startProgram, targetOf } from "./program.ts";

const root = join(import.meta.dirname, "../..");
const main = join(root, "dist/main.js");

/** The built command, started as in its image, within this memory. */
export function imageCommand(node: string, memoryBytes: number): Program {
  const startImage: Program["start"] = (at) => {
    const app = join(at.folder, "app");
    for (const name of ["package.json", "dist"]) cpSync(join(root, name), join(app, name), { recursive: true });
    execFileSync(node, [join(root, "scripts/code-cache.mjs"), join(app, "dist")]);
    return start(at, "hmac", {
      command: [node, ...imageOptions(memoryBytes), join(app, "dist/main.js")],
      env: imageVariables(),
    });
  };
  return { name: "Countersign", job: "hmac", isInstalled: () => true, start: startImage };
}

/** The built command with each job. */
export const countersign: readonly Program[] = [
  ...Object.entries({
    "Countersign HMAC": "hmac",
    "Countersign HMAC over TLS": "tls",
    "Countersign callbacks": "callback",
    "Countersign OAuth": "oauth",
    "Countersign GET 1 KiB": "get1KiB",
    "Countersign GET 1 MiB": "get1MiB",
  } as const).map(([name, job]) => ({ name, job, isInstalled: () => true, start: (at: Place) => start(at, job) })),
  {
    name: "Countersign HMAC one of 1000 sites",
    job: "hmac",
    isInstalled: () => true,
    start: (at) => start(at, "hmac", { sites: 1_000 }),
  },
  ...Object.entries({ "Countersign OAuth Redis": "oauth", "Countersign HMAC keyed": "keyed" } as const).map(
    ([name, job]) => ({
      name,
      job,
      isInstalled: () => isThere("redis-server"),
      start: (at: Place) => start(at, job, { isShared: true }),
    }),
  ),
];

async function start(
  { port, service, cpu, folder }: Place,
  job: Job,
  { isShared = false, sites = 1, command = [process.execPath, main], env = {} } = {},
): Promise<Running> {
  const redis = isShared ? await startRedis(port + 2, folder) : undefined;
  const secret = (name: string, value: string) => {
    const file = join(folder, name);
    writeFileSync(file, value, { mode: 0o600 });
    return { file };
  };
  const isPassing = job.startsWith("get");
  const hasTokens = job === "oauth" || isPassing;
  const authOf = (index: number) =>
    !hasTokens
      ? { keys: [{ identifier: `K${1_000_000_001 + index}`, secret: secret(`key-${index}`, key) }] }
      : {
          credentials: [{ name: "blue", clientId: "c", clientSecret: secret("secret", "s".repeat(32)), audience: "a" }],
        };
  const environment = {
    baseUrl: `${targetOf(job, service)}/json-api`,
    ...(hasTokens ? { authUrl: `http://127.0.0.1:${service.authPort}` } : {}),
    ...(job === "tls" ? { tls: { caFile: authorityFile } } : { allowPlaintext: true }),
    ...(isPassing ? { passThrough: [{ prefix: "/files/", methods: ["GET"] }] } : {}),
    operations: ["create_order"],
    forwardHeaders: ["bench-job"],
    defaultSite: site,
    sites: Object.fromEntries(
      Array.from({ length: sites }, (_, index) => [`S${1_000_000_001 + index}`, authOf(index)]),
    ),
  };
  const config = {
    ...(job === "callback"
      ? {
          listeners: [{ bind: "127.0.0.1:0", environment: "bench" }],
          callbacks: [
            {
              bind: `127.0.0.1:${port}`,
              environment: "bench",
              application: { url: `http://127.0.0.1:${service.port}/` },
              replay: "best_effort",
            },
          ],
        }
      : { listeners: [{ bind: `127.0.0.1:${port}`, environment: "bench" }] }),
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
  const proxy = await startProgram([...command, "serve", "--config", file], { port, cpu, env });
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
