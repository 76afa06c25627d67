import type { Caller } from "../model/caller.ts";
import { formatDuration } from "../model/clock.ts";
import {
  type Address,
  type CredentialSet,
  type Egress,
  type Environment,
  placeOf,
  type Site,
  type Tls,
} from "../model/environment.ts";
import { type Bind, type Callers, describeBind } from "../model/listener.ts";
import { listNames } from "../model/names.ts";
import { describeRedisNode, type RedisAccess, type RedisPlace } from "../model/redis-access.ts";
import { Secret } from "../model/secret.ts";
import type { CallbackListenerConfig, Config, TracingConfig } from "./config.ts";

const mostNamed = 5;

/**
 * Where each listener leads and who may call it, one line each.
 * @param bound where they listen, in the configuration's order, with the port that the system gave for port 0
 */
export function routes(
  { listeners, callbacks = [], environments }: Config,
  bound?: { readonly listeners: readonly Bind[]; readonly callbacks: readonly Bind[] },
): string[] {
  const inbound = callbacks.map(({ bind, environment, application }, index) => {
    const at = describeBind(bound?.callbacks[index] ?? bind);
    return `${at} hands callbacks of ${environment} to ${describeAddress(application.url)}`;
  });
  const outbound = listeners.map(({ bind, environment: name, callers }, index) => {
    const at = describeBind(bound?.listeners[index] ?? bind);
    const environment = environments.get(name);
    if (environment === undefined) return `${at} leads nowhere`;
    const operations = listOperations(environment).join(", ");
    const passed = (environment.passThrough ?? []).map(({ prefix }) => `; ${prefix} passes through`).join("");
    const who = describeCallers(callers);
    const way = environment.egress === undefined ? "" : describeWay(environment.egress);
    return `${at} leads to ${name}: ${describeAddress(environment.baseUrl)} (${operations})${passed}${who}${way}`;
  });
  return [...outbound, ...inbound];
}

function describeWay({ proxy, direct }: Egress): string {
  const except = direct.size === 0 ? "" : `, but for ${[...direct].join(" and ")}`;
  return `; through the proxy ${placeOf(proxy)}${except}`;
}

function describeCallers(callers: Callers | undefined): string {
  switch (callers?.kind) {
    case undefined:
      return "";
    case "anyone":
      return "; anyone may call";
    case "tokens":
      return "; callers by token";
    case "mtls":
      return "; callers by certificate";
    case "named": {
      const by = callers.tls === undefined ? "token" : "certificate";
      const names = callers.callers.map(({ name }) => name);
      return `; callers by ${by}: ${listNames(names, mostNamed)}`;
    }
  }
}

/** The effective configuration for people: every default filled in, every secret masked. */
export function explain(config: Config): object {
  const { tokens, timeouts, limits, log, readiness, reload, acknowledge } = config;
  const sections = {
    listeners: config.listeners.map(({ bind, callers, ...listener }) => {
      const mtls = callers?.kind === "named" && callers.tls ? { key: callers.tls.key } : undefined;
      return { bind: describeBind(bind), ...listener, mtls, callers: callers && showCallers(callers) };
    }),
    callbacks: config.callbacks?.map(showCallbacks),
    admin: { bind: describeBind(config.admin), hosts: config.adminHosts ?? [] },
    status: { bind: describeBind(config.status) },
    environments: new Map([...config.environments].map(([name, each]) => [name, showEnvironment(each)])),
    tokens: { cache: tokens.cache },
    redis: tokens.cache === "redis" ? showRedis(tokens.redis) : undefined,
    once: config.once,
    timeouts,
    limits,
    log,
    tracing: config.tracing && showTracing(config.tracing),
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
  if (callers.kind === "tokens") return { tokens: callers.tokens };
  if (callers.kind === "mtls") return { mtls: { key: callers.tls.key } };
  return new Map(callers.callers.map(({ name, ...caller }) => [name, showCaller(caller)]));
}

function showCaller({ tokens, certificates, ...rights }: Omit<Caller, "name">): object {
  return {
    token: tokens.length > 0 ? tokens : undefined,
    certificate: certificates.length > 0 ? certificates : undefined,
    ...rights,
  };
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
  const {
    baseUrl,
    authUrl,
    passThrough,
    defaultSite,
    sites,
    allowsPlaintext,
    undecided,
    forwardHeaders,
    via,
    tls,
    egress,
  } = environment;
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
    egress: egress && showEgress(egress),
  };
}

function showEgress({ proxy, credentials, noProxy, direct, tls }: Egress): object {
  const secured = proxy.scheme === "https" ? showTls(tls) : undefined;
  return { proxy: proxy.origin, auth: credentials, noProxy, direct, tls: secured };
}

/** A child that uses its parent's credential sets names the parent instead of repeating them. */
function showSite({ identifier, credentials, keys, defaultKey, decimals, ...site }: Site): object {
  const { parent, version, auth, identifyBy, characters, exempt, checksCallerSignature } = site;
  const owner = credentials?.owner;
  const sets = credentials?.sets.map(showSet);
  const hmac = { keys: keys.map((key) => ({ ...key, default: key === defaultKey })), identifyBy, characters, exempt };
  return {
    parent,
    version,
    auth,
    credentials: owner === undefined || owner === identifier ? sets : `those of ${owner}`,
    ...(keys.length > 0 ? hmac : {}),
    checkCallerSignature: checksCallerSignature ? "report" : undefined,
    decimals: decimals.size > 0 ? decimals : undefined,
  };
}

/** Sets that ask in the service's own way have no settings to show. */
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

function showTracing({ endpoint, headers, tls, ...settings }: TracingConfig): object {
  return { otlp: { endpoint: describeAddress(endpoint), headers, tls: showTls(tls) }, ...settings };
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
