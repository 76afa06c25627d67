import { describeBind } from "../model/bind.ts";
import type { Credentials, Environment, Site } from "../model/environment.ts";
import type { Secret } from "../model/secret.ts";
import type { Config, ListenerConfig } from "./config.ts";
import { describeCallers, explainCallers } from "./explain-callers.ts";
import { explainRedis } from "./explain-redis.ts";

/** Where each listener leads and who may call it, one line each. */
export function routes({ listeners, environments }: Config): string[] {
  return listeners.map(({ bind, environment: name, callers }) => {
    const environment = environments.get(name);
    if (environment === undefined) return `${describeBind(bind)} leads nowhere`;
    const { origin, path } = environment.baseUrl;
    return `${describeBind(bind)} leads to ${name}: ${origin}${path} (${listOperations(environment).join(", ")})${describeCallers(callers)}`;
  });
}

/** Says where a secret came from instead of what it is. */
type Mask = (secret: Secret) => string;

/** The effective configuration for people: every default filled in, every secret masked. */
export function explain(config: Config): object {
  const { listeners, admin, status, environments, tokens, timeouts, ...rest } = config;
  const mask: Mask = (secret) => {
    const origin = config.secretOrigins?.get(secret);
    return origin === undefined ? String(secret) : `[secret from ${origin}]`;
  };
  return {
    listeners: listeners.map((listener) => explainListener(listener, mask)),
    admin: { bind: describeBind(admin), hosts: config.adminHosts ?? [] },
    status: { bind: describeBind(status) },
    environments: Object.fromEntries(
      [...environments].map(([name, environment]) => [name, explainEnvironment(environment, mask)]),
    ),
    tokens: { cache: tokens.cache },
    ...(tokens.cache === "redis" ? { redis: explainRedis(tokens.redis, mask) } : {}),
    timeouts: {
      request: duration(timeouts.requestMs),
      connect: duration(timeouts.connectMs),
      token: duration(timeouts.tokenMs),
    },
    limits: rest.limits,
    log: rest.log,
    readiness: rest.readiness,
    reload: explainReload(rest.reload),
    drain: { minSeconds: rest.drain.minMs / 1_000 },
    ...(rest.acknowledge?.length ? { acknowledge: rest.acknowledge } : {}),
  };
}

function explainReload({ unreadyAfterRefusalMs }: Config["reload"]): object {
  return unreadyAfterRefusalMs === undefined ? {} : { unreadyAfterRefusal: duration(unreadyAfterRefusalMs) };
}

function explainListener({ bind, environment, hosts, callers }: ListenerConfig, mask: Mask): object {
  const who = callers === undefined ? {} : { callers: explainCallers(callers, mask) };
  return { bind: describeBind(bind), environment, hosts, ...who };
}

function explainEnvironment(environment: Environment, mask: Mask): object {
  const {
    baseUrl,
    authUrl,
    defaultSite,
    sites,
    allowsPlaintext = false,
    undecided,
    forwardHeaders,
    via,
    tls,
  } = environment;
  return {
    baseUrl: `${baseUrl.origin}${baseUrl.path}`,
    ...(authUrl === undefined ? {} : { authUrl: `${authUrl.origin}${authUrl.path}` }),
    operations: listOperations(environment),
    defaultSite,
    sites: Object.fromEntries([...sites].map(([identifier, site]) => [identifier, explainSite(site, mask)])),
    allowPlaintext: allowsPlaintext,
    undecided: [...undecided],
    forwardHeaders,
    via,
    tls: { privateCa: tls.ca !== undefined, clientCertificate: tls.cert !== undefined },
  };
}

function explainSite(site: Site, mask: Mask): object {
  const { identifier, parent, version, auth, identifyBy, characters, exempt, decimals, keys, defaultKey, credentials } =
    site;
  return {
    ...(parent === undefined ? {} : { parent }),
    version,
    auth,
    ...(credentials === undefined ? {} : { credentials: explainCredentials(credentials, identifier, mask) }),
    ...(keys.length === 0
      ? {}
      : {
          keys: keys.map((key) => ({
            identifier: key.identifier,
            version: key.version,
            secret: mask(key.secret),
            default: key === defaultKey,
          })),
          identifyBy,
          characters,
          exempt: [...exempt],
        }),
    ...(decimals.size === 0 ? {} : { decimals: [...decimals] }),
  };
}

/** A child that uses its parent's sets says so instead of repeating them. */
function explainCredentials({ owner, sets }: Credentials, site: string, mask: Mask): object | string {
  if (owner !== site) return `those of ${owner}`;
  return sets.map(({ name, clientId, clientSecret, audience }) => {
    return { name, clientId, clientSecret: mask(clientSecret), audience };
  });
}

function listOperations({ operations }: Environment): readonly string[] {
  return operations === "any" ? ["*"] : [...operations];
}

function duration(ms: number): string {
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
