import { checkListeners } from "./check-listeners.ts";
import type { Config, TokensConfig } from "./config.ts";
import { hashConfig } from "./hash.ts";
import type { Reading } from "./load-context.ts";
import { readCallers } from "./read-callers.ts";
import { readEnvironment } from "./read-environment.ts";
import { readRedis } from "./read-redis.ts";
import type { RawConfig } from "./schema.ts";
import { checkClaims } from "./uniqueness.ts";

/** Reads everything that the file names and checks what the schema cannot; what is wrong goes into the findings. */
export async function buildConfig(raw: RawConfig, reading: Reading): Promise<Config> {
  const environments = [];
  for (const [name, environment] of Object.entries(raw.environments)) {
    environments.push(await readEnvironment(name, environment, reading));
  }
  if (environments.length === 0) {
    reading.findings.conclude([["environments"]], ["environments"], "there is no environment", "add one");
  }
  checkClaims(reading.claims, reading.findings);
  checkListeners(raw, reading);
  checkTimeouts(raw, reading);
  const callers = await readCallers(raw.listeners, reading);
  const tokens = await readTokens(raw, reading);

  const { request: requestMs, connect: connectMs, token: tokenMs } = raw.timeouts;
  const config = {
    listeners: raw.listeners.map(({ bind, environment, hosts }, index) => {
      return { bind, environment, hosts: hosts.map(lowerCase), callers: callers[index] };
    }),
    admin: raw.admin.bind,
    adminHosts: raw.admin.hosts.map(lowerCase),
    status: raw.status.bind,
    environments: new Map(environments.map((environment) => [environment.name, environment])),
    tokens,
    timeouts: { requestMs, connectMs, tokenMs },
    limits: raw.limits,
    log: { level: raw.log.level, upstreamHeaders: raw.log.upstreamHeaders.map(lowerCase) },
    readiness: raw.readiness,
    reload: { unreadyAfterRefusalMs: raw.reload.unreadyAfterRefusal },
    drain: { minMs: raw.drain.minSeconds * 1_000 },
    acknowledge: raw.acknowledge,
  } as const;
  return { ...config, hash: hashConfig(config), secretOrigins: reading.secrets.origins };
}

/** Where Redis is wanted and not sound, the findings say so and nothing starts. */
async function readTokens(raw: RawConfig, reading: Reading): Promise<TokensConfig> {
  const redis = await readRedis(raw, reading);
  return raw.tokens.cache === "memory" || redis === undefined ? { cache: "memory" } : { cache: "redis", redis };
}

function checkTimeouts({ timeouts: { connect, request } }: RawConfig, { findings }: Reading): void {
  if (connect <= request) return;
  const message = `timeouts.connect (${connect} ms) is longer than timeouts.request (${request} ms) and never reached`;
  const fix = "write a shorter one: then a service that takes no connection is told from one that does not answer";
  findings.warn("connect_longer_than_request", ["timeouts", "connect"], message, fix);
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}
