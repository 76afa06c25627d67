import { readFile, stat } from "node:fs/promises";
import { checkRedis } from "./check-redis.ts";
import { checkWhole } from "./check-whole.ts";
import type { Config } from "./config.ts";
import { readDocument } from "./document.ts";
import { Findings } from "./findings.ts";
import { hashConfig } from "./hash.ts";
import { refuseNotYet } from "./not-yet.ts";
import type { Problem } from "./problem.ts";
import { readEnvironment } from "./read-environment.ts";
import { type Origins, SecretReader } from "./read-secrets.ts";
import { configSchema, type RawConfig } from "./schema.ts";
import { describeIssues } from "./schema-findings.ts";
import type { ConfigSurroundings } from "./surroundings.ts";

/** A configuration in force, or everything that is wrong with the file. */
export type Loaded =
  | {
      readonly kind: "loaded";
      readonly config: Config;
      readonly warnings: readonly Problem[];
      readonly origins: Origins;
    }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] };

/**
 * Reads and checks a configuration file with everything it names. All problems are reported at once; a file with one
 * problem is refused whole.
 */
export async function loadConfig(file: string, surroundings?: ConfigSurroundings): Promise<Loaded> {
  const around = surroundings ?? (await realSurroundings());
  let text: string;
  try {
    text = (await around.readFile(file)).bytes.toString("utf8");
  } catch (error) {
    return { kind: "refused", problems: [unreadable(error as NodeJS.ErrnoException)] };
  }
  const document = readDocument(text);
  if (document.yamlProblems.length > 0) return { kind: "refused", problems: document.yamlProblems };
  const parsed = configSchema.safeParse(document.value, { reportInput: true });
  if (!parsed.success) return { kind: "refused", problems: describeIssues(parsed.error.issues).map(document.locate) };
  const findings = new Findings();
  const secrets = new SecretReader(around, findings);
  const config = await build(parsed.data, secrets, findings, around);
  if (findings.problems.length > 0) return { kind: "refused", problems: findings.problems.map(document.locate) };
  return { kind: "loaded", config, warnings: findings.warnings.map(document.locate), origins: secrets.origins };
}

async function build(
  raw: RawConfig,
  secrets: SecretReader,
  findings: Findings,
  { env }: ConfigSurroundings,
): Promise<Config> {
  const environments = await Promise.all(
    Object.entries(raw.environments).map(([name, environment]) =>
      readEnvironment(name, environment, secrets, findings),
    ),
  );
  if (environments.length === 0) findings.refuse(["environments"], "there is no environment", "add one");
  checkWhole(raw, environments, env, findings);
  await checkRedis(raw, secrets, findings);
  refuseNotYet(raw, findings);
  const { request, connect, token } = raw.timeouts;
  const config = {
    listeners: raw.listeners.map(({ bind, environment, hosts }) => ({
      bind,
      environment,
      hosts: hosts.map((host) => host.toLowerCase()),
    })),
    admin: raw.admin.bind,
    status: raw.status.bind,
    environments: new Map(environments.map((environment) => [environment.name, environment])),
    tokens: { cache: "memory" },
    timeouts: { requestMs: request, connectMs: connect, tokenMs: token },
    limits: raw.limits,
    log: { level: raw.log.level, upstreamHeaders: raw.log.upstreamHeaders.map((header) => header.toLowerCase()) },
    readiness: raw.readiness,
    drain: { minMs: raw.drain.minSeconds * 1_000 },
  } as const;
  return { ...config, hash: hashConfig(config) };
}

async function realSurroundings(): Promise<ConfigSurroundings> {
  return {
    env: process.env,
    mountPoints: await readMountPoints(),
    async readFile(path) {
      const [bytes, { mode }] = await Promise.all([readFile(path), stat(path)]);
      return { bytes, mode: mode & 0o777 };
    },
  };
}

/** The fifth field of each line is the mount point; where there is no such file there are no such mounts. */
async function readMountPoints(): Promise<ReadonlySet<string>> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  return new Set(text.split("\n").flatMap((line) => line.split(" ")[4] ?? []));
}

function unreadable({ code }: NodeJS.ErrnoException): Problem {
  const message = `the configuration file cannot be read (${code ?? "unknown error"})`;
  return { path: "", line: 1, column: 1, message, found: undefined, mend: "give the path of a readable YAML file" };
}
