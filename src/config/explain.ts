import { formatDuration } from "../model/clock.ts";
import type { Address, CredentialSet, Environment, Site, Tls } from "../model/environment.ts";
import { type Callers, describeBind } from "../model/listener.ts";
import { describeRedisNode, type RedisAccess, type RedisPlace } from "../model/redis-access.ts";
import { Secret } from "../model/secret.ts";
import type { CallbackListenerConfig, Config } from "./config.ts";

const callersInRoutes: Readonly<Record<Callers["kind"], string>> = {
  anyone: "; anyone may call",
  tokens: "; callers by token",
  mtls: "; callers by certificate",
};

/** Where each listener leads and who may call it, one line each. */
export function routes({ listeners, callbacks = [], environments }: Config): string[] {
  const inbound = callbacks.map(({ bind, environment, application }) => {
    return `${describeBind(bind)} hands callbacks of ${environment} to ${describeAddress(application.url)}`;
  });
  const outbound = listeners.map(({ bind, environment: name, callers }) => {
    const environment = environments.get(name);
    if (environment === undefined) return `${describeBind(bind)} leads nowhere`;
    const operations = listOperations(environment).join(", ");
    const who = callers === undefined ? "" : callersInRoutes[callers.kind];
    const passed = (environment.passThrough ?? []).map(({ prefix }) => `; ${prefix} passes through`).join("");
    return `${describeBind(bind)} leads to ${name}: ${describeAddress(environment.baseUrl)} (${operations})${passed}${who}`;
  });
  return [...outbound, ...inbound];
}

/** The effective configuration for people: every default filled in, every secret masked. */
export function explain(config: Config): object {
  const { tokens, timeouts, limits, log, readiness, reload, acknowledge } = config;
  const sections = {
    listeners: config.listeners.map(({ bind, callers, ...listener }) => {
      return { bind: describeBind(bind), ...listener, callers: callers && showCallers(callers) };
    }),
    callbacks: config.callbacks?.map(showCallbacks),
    admin: { bind: describeBind(config.admin), hosts: config.adminHosts ?? [] },
    status: { bind: describeBind(config.status) },
    environments: new Map([...config.environments].map(([name, each]) => [name, showEnvironment(each)])),
    tokens: { cache: tokens.cache },
    redis: tokens.cache === "redis" ? showRedis(tokens.redis) : undefined,
    timeouts,
    limits,
    log,
    readiness,
    reload,
    drain: { minSeconds: config.drain.minMs / 1_000 },
    acknowledge: acknowledge?.length ? acknowledge : undefined,
  };
  return toPlain(sections, config.secretOrigins ?? new Map()) as object;
}

/**
 * The one place that decides how values are shown: a secret as where it came from, milliseconds with their unit, sets and
 * maps as lists and mappings. What is undefined is left out.
 */
function toPlain(value: unknown, origins: ReadonlyMap<Secret, string>): unknown {
  if (value instanceof Secret) {
    const origin = origins.get(value);
    return origin === undefined ? String(value) : `[secret from ${origin}]`;
  }
  if (value instanceof Set || Array.isArray(value)) return [...value].map((item) => toPlain(item, origins));
  if (typeof value !== "object" || value === null) return value;
  const entries: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  const shown = entries.map(([name, inner]) =>
    typeof inner === "number" && name.endsWith("Ms")
      ? [name.slice(0, -"Ms".length), formatDuration(inner)]
      : [name, toPlain(inner, origins)],
  );
  return Object.fromEntries(shown.filter(([, inner]) => inner !== undefined));
}

function showCallers(callers: Callers): object | string {
  if (callers.kind === "anyone") return "anyone";
  return callers.kind === "tokens" ? { tokens: callers.tokens } : { mtls: { key: callers.tls.key } };
}

function showCallbacks({ bind, application, tls, ...listener }: CallbackListenerConfig): object {
  const { url, timeoutMs, tls: towards } = application;
  return {
    bind: describeBind(bind),
    ...listener,
    application: { url: describeAddress(url), timeoutMs, tls: showTls(towards) },
    mtls: tls && { key: tls.key },
  };
}

function showEnvironment(environment: Environment): object {
  const { baseUrl, authUrl, passThrough, defaultSite, sites, allowsPlaintext, undecided, forwardHeaders, via, tls } =
    environment;
  return {
    baseUrl: describeAddress(baseUrl),
    authUrl: authUrl && describeAddress(authUrl),
    operations: listOperations(environment),
    passThrough: passThrough?.map(({ idleMs, ...route }) => ({ ...route, idleTimeoutMs: idleMs })),
    defaultSite,
    sites: new Map([...sites].map(([identifier, site]) => [identifier, showSite(site)])),
    allowPlaintext: allowsPlaintext ?? false,
    undecided,
    forwardHeaders,
    via,
    tls: showTls(tls),
  };
}

/** A child that uses its parent's credential sets names the parent instead of repeating them. */
function showSite({ identifier, credentials, keys, defaultKey, decimals, ...site }: Site): object {
  const { parent, version, auth, identifyBy, characters, exempt } = site;
  const owner = credentials?.owner;
  const sets = credentials?.sets.map(showSet);
  const hmac = { keys: keys.map((key) => ({ ...key, default: key === defaultKey })), identifyBy, characters, exempt };
  return {
    parent,
    version,
    auth,
    credentials: owner === undefined || owner === identifier ? sets : `those of ${owner}`,
    ...(keys.length > 0 ? hmac : {}),
    decimals: decimals.size > 0 ? decimals : undefined,
  };
}

/** Settings of the service's own way are not shown: they are the same for every such set. */
function showSet({ label, token, ...set }: CredentialSet): object {
  if (token === undefined) return set;
  const { url, clientAuth, extra, ...settings } = token;
  const { method, ...proof } = clientAuth;
  const hasExtra = Object.keys(extra).length > 0;
  const shown = { clientAuth: method, ...proof, extra: hasExtra ? extra : undefined, ...settings };
  return { ...set, token: { url: url && describeAddress(url), ...shown } };
}

function showRedis({ place, username, password, tls, lockNodes, encryptionKeys }: RedisAccess): object {
  return {
    ...showPlace(place),
    username,
    password,
    tls: tls && showTls(tls),
    lockNodes: lockNodes.map(describeRedisNode),
    encryptionKeys,
  };
}

function showPlace(place: RedisPlace): object {
  if (place.kind === "standalone") return { url: describeRedisNode(place.node) };
  const nodes = place.nodes.map((node) => describeBind({ kind: "tcp", ...node }));
  if (place.kind === "cluster") return { cluster: { nodes } };
  return { sentinel: { name: place.master, nodes, password: place.password } };
}

function showTls({ ca, cert }: Tls): object {
  return { privateCa: ca !== undefined, clientCertificate: cert !== undefined };
}

function describeAddress({ origin, path }: Address): string {
  return `${origin}${path}`;
}

function listOperations({ operations }: Environment): readonly string[] {
  return operations === "any" ? ["*"] : [...operations];
}
