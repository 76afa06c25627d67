import { expect, onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { type Check, type Run, runMs } from "../../../src/cli/doctor/check.ts";
import { formatCheck, runChecks } from "../../../src/cli/doctor.ts";
import { formatProblems } from "../../../src/config/diagnostics.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { systemClock } from "../../../src/model/clock.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { ConfigFolder, canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { type Ended, plainEnvironment, runCommand } from "../../../testkit/run-program.ts";

/** The parts of a configuration for the doctor, as YAML; `DIR` stands for the folder. */
export interface Parts {
  readonly environments: Readonly<Record<string, string>>;
  /** Keys of the section `redis` in addition to the user and the encryption keys. */
  readonly redis?: string | undefined;
  readonly more?: string;
  /** Keys of the listener in addition to its address and environment. */
  readonly listener?: string;
}

/** A folder with every secret that configurations for the doctor name. */
export async function openFolder(files: Readonly<Record<string, string>> = {}) {
  const folder = new ConfigFolder({ "redis-password": aclUser.password, ...files });
  const [adminPort, statusPort] = [await freePort(), await freePort()];
  return {
    folder,
    adminPort,
    statusPort,
    /** Writes the configuration file, anew at each call, and returns its path. */
    write({ environments, redis, more = "", listener = "" }: Parts) {
      const [first = ""] = Object.keys(environments);
      const login = `username: ${aclUser.username}, password: { file: DIR/redis-password }`;
      const yaml = `listeners: [ { bind: "unix:DIR/app.sock", environment: ${first}${listener} } ]
admin: { bind: "127.0.0.1:${adminPort}" }
status: { bind: "127.0.0.1:${statusPort}" }
environments:
${Object.entries(environments)
  .map(([name, yaml]) => `  ${name}: { operations: [create_order], ${yaml} }`)
  .join("\n")}
${redis === undefined ? "" : `tokens: { cache: redis }\nredis: { ${login}, encryptionKeys: [ { file: DIR/token-key } ], ${redis} }`}
${more}
`;
      return folder.writeYaml(yaml);
    },
  };
}

/** A service with the set `blue` of the configurations' folders. */
export async function startService(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const audience = "https://api.sandbox.example";
  const credentials = [{ clientId: "blue-id", clientSecret: canaries.blue, audience }];
  const simulator = await startSimulator({ sites: [{ identifier: "S1", credentials }], ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

export const blueSites = "sites: { S1: { credentials: [ { name: blue, dir: DIR/blue } ] } }";

/** The same site, and these sites. */
export const sitesWith = (more: string) => blueSites.replace("sites: {", `sites: { ${more},`);
export const keyedSite = "S1000000003: { keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ] }";

interface Staged extends Omit<Parts, "environments"> {
  readonly service?: Partial<SimulatorOptions>;
  readonly files?: Readonly<Record<string, string>>;
  readonly sites?: string;
}

/** A service, and a configuration whose only environment, `sandbox`, leads to that service. */
export async function configureDoctor({ service, files, sites = blueSites, ...parts }: Staged = {}) {
  const simulator = await startService(service);
  const opened = await openFolder(files);
  const sandbox = `baseUrl: "${simulator.apiUrl}", authUrl: "${simulator.loginUrl}", allowPlaintext: true, ${sites}`;
  return { ...opened, simulator, file: opened.write({ environments: { sandbox }, ...parts }) };
}

/** Secrets that no run may print; the simulator's tokens are called token_1, token_2, …. */
const secrets = [...Object.values(canaries), "canary", aclUser.password, tokenKey, /token_\d/];

function expectNoSecret(text: string): void {
  for (const secret of secrets) expect(text).not.toMatch(secret);
}

/** Runs the built command once. */
export async function runDoctor(args: readonly string[], env = plainEnvironment()): Promise<Ended> {
  const ended = await runCommand(["doctor", ...args], env);
  expectNoSecret(ended.stdout + ended.stderr);
  return ended;
}

export type Diagnosis = Awaited<ReturnType<typeof diagnose>>;

/** Runs the checks in this process, which takes a tenth of the time. */
export async function diagnose(file: string, { withToken = true, allTokens = false } = {}) {
  const loaded = await loadConfig(file);
  if (loaded.kind === "refused") throw new Error(formatProblems(file, loaded.problems));
  const deadlineMs = systemClock.nowMs() + runMs;
  const run: Run = { file, ...loaded, withToken, allTokens, clock: systemClock, deadlineMs };
  const checks: Check[] = [];
  for await (const check of runChecks(run)) checks.push(check);
  for (const { verdict, fix } of checks) expect(fix !== undefined).toBe(verdict === "warn" || verdict === "fail");
  expectNoSecret(checks.map((check) => formatCheck(check, 0)).join("\n") + JSON.stringify(checks));
  return {
    hasFailed: checks.some(({ verdict }) => verdict === "fail"),
    /** Each check on a topic, of all environments or of the given one: `verdict subject: detail`, or with ` | fix` appended. */
    of: (topic: string, wanted?: string): readonly string[] =>
      checks
        .filter((check) => check.topic === topic && (wanted === undefined || check.environment === wanted))
        .map(({ verdict, subject, detail, fix }) => [`${verdict} ${subject}: ${detail}`, fix ?? []].flat().join(" | ")),
  };
}
