import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { redisKey } from "../adapters/redis/scripts.ts";
import { open, seal } from "../adapters/redis/seal.ts";
import { createCallbackHandler } from "../callbacks/handler.ts";
import type { ClaimStore } from "../claims/claim.ts";
import { type CallbackListenerConfig, type Config, defaultOnce, type ListenerConfig } from "../config/config.ts";
import type { Environment } from "../model/environment.ts";
import { type Caller, callersOf, callersTlsOf, describeBind } from "../model/listener.ts";
import { createRequestHandler, type RequestHandlerParts } from "../orders/handler.ts";
import { createLookUpHandler } from "../orders/look-up.ts";
import type { OnceRules, Sealing } from "../orders/once.ts";
import { createPassThroughHandler } from "../pass-through/handler.ts";
import type { StreamingRequest } from "../pass-through/messages.ts";
import { CallerRegistry, RateLimit } from "../serving/caller-registry.ts";
import { ConcurrencyLimit } from "../serving/concurrency-limit.ts";
import { SlowAnswers } from "../serving/forward.ts";
import type { ListenerContext, RequestHandler, Tracer } from "../serving/messages.ts";
import { loopbackHosts } from "../serving/target.ts";
import { KeyedResources } from "./keyed-resources.ts";
import type { Upstreams } from "./upstreams.ts";

interface HandlersParts extends Pick<RequestHandlerParts, "clock" | "report" | "tokensOf" | "buffers"> {
  readonly upstreams: Pick<Upstreams, "sendTo" | "sendStreamTo" | "deliverTo">;
  readonly tracerOf: (config: Config) => Tracer | undefined;
  readonly claimsOf: (config: Config) => ClaimStore;
}

/** The handlers of listeners, the limits of environments, and the rates of callers. */
export type Handlers = ReturnType<typeof openHandlers>;

export function openHandlers({ upstreams, tracerOf, claimsOf, ...parts }: HandlersParts) {
  const { clock } = parts;
  /** One for each environment and use. A limit outlives a reload, and `limits.inFlightPerEnvironment` resizes it. */
  const limits = new KeyedResources<Limit>(clock);
  /** The recent request rate of each caller with `requestsPerSecond`, by environment and name. */
  const rates = new KeyedResources<RateLimit>(clock);
  /** Ends requests that are still under way. */
  const shutdown = new AbortController();
  setMaxListeners(0, shutdown.signal);

  function limitOf(use: Limit["use"], environment: string, config: Config): ConcurrencyLimit {
    const { inFlightPerEnvironment } = config.limits;
    const create = () => ({ use, environment, requests: new ConcurrencyLimit(inFlightPerEnvironment) });
    return limits.prepare(config, `${use} ${environment}`, create, config.timeouts.requestMs).requests;
  }

  /** The registry of a listener's callers; undefined if they have no names. */
  function registryOf({ environment, callers }: ListenerConfig, config: Config): CallerRegistry | undefined {
    if (callers?.kind !== "named") return undefined;
    const known = callers.callers.map((caller) => ({ ...caller, rate: rateOf(environment, caller, config) }));
    return new CallerRegistry(known);
  }

  function rateOf(environment: string, { name, requestsPerSecond }: Caller, config: Config): RateLimit | undefined {
    if (requestsPerSecond === undefined) return undefined;
    return rates.prepare(config, `${environment} ${name}`, () => new RateLimit(requestsPerSecond, clock));
  }

  return {
    /** A path below none of its environment's pass-through routes, and not Countersign's own, goes to the main handler. */
    forApplications(listener: ListenerConfig, config: Config): RequestHandler<StreamingRequest> {
      const { environment: name } = listener;
      const context = contextOf(listener, config, registryOf(listener, config));
      const own = {
        ...parts,
        requestMs: config.timeouts.requestMs,
        upstreamHeaders: config.log.upstreamHeaders,
        newRequestId: randomUUID,
        docsUrl: config.docsUrl,
        once: onceRules(config, claimsOf(config)),
        tracer: tracerOf(config),
        shutdown: shutdown.signal,
      };
      const concurrency = limitOf("operations", name, config);
      const toStreams = limitOf("streams", name, config);
      const send = upstreams.sendTo(context.environment);
      const main = createRequestHandler({ ...own, send, concurrency, slowAnswers: new SlowAnswers() }, context);
      const lookingUp = { ...own, concurrency };
      const routes = context.environment.passThrough;
      if (routes === undefined) return createLookUpHandler(lookingUp, context, main);
      const streaming = {
        ...own,
        sendStream: upstreams.sendStreamTo(context.environment),
        concurrency: toStreams,
        slowAnswers: new SlowAnswers(),
      };
      return createLookUpHandler(lookingUp, context, createPassThroughHandler(streaming, context, routes, main));
    },

    forCallbacks(listener: CallbackListenerConfig, config: Config): RequestHandler {
      const { bind, environment: name, application, exempt, rememberMs, replay: mode } = listener;
      const own = {
        ...parts,
        requestMs: config.timeouts.requestMs,
        newRequestId: randomUUID,
        deliver: upstreams.deliverTo(application),
        claims: claimsOf(config),
        docsUrl: config.docsUrl,
        concurrency: limitOf("callbacks", name, config),
      };
      const { url, timeoutMs } = application;
      const path = url.path === "" ? "/" : url.path;
      const rules = { exempt, rememberMs, mode, timeoutMs, application: `${name} ${url.origin}${path}` };
      const place = {
        environment: environmentOf(name, config),
        listener: describeBind(bind),
        server: url.origin,
        path,
      };
      return createCallbackHandler(own, { ...rules, ...place });
    },

    commit(config: Config): void {
      limits.commit(config);
      for (const { requests } of limits.values()) requests.resize(config.limits.inFlightPerEnvironment);
      for (const { environment, callers } of config.listeners) {
        for (const { name, requestsPerSecond } of callersOf(callers)) {
          if (requestsPerSecond !== undefined) rates.get(`${environment} ${name}`)?.resize(requestsPerSecond);
        }
      }
      rates.commit(config);
    },

    /** Requests of applications that are being served, by environment. */
    inFlight(): ReadonlyMap<string, number> {
      const sums = new Map<string, number>();
      for (const { use, environment, requests } of limits.values()) {
        if (use !== "callbacks") sums.set(environment, (sums.get(environment) ?? 0) + requests.inFlight);
      }
      return sums;
    },

    /** Refuses every request from now on, and ends the waits and streams of those under way. */
    endOpen(): void {
      for (const { requests } of limits.values()) requests.close();
      shutdown.abort();
    },
  };
}

/** The limit of one kind of requests served at once. Streams of pass-through routes may take long, so they have a limit of their own. */
interface Limit {
  readonly use: "operations" | "streams" | "callbacks";
  readonly environment: string;
  readonly requests: ConcurrencyLimit;
}

/** Without Redis nothing is shared: one process would forget all keys when it ends. */
export function onceRules({ tokens, once = defaultOnce }: Config, claims: ClaimStore): OnceRules {
  const { ttlMs: lifetimeMs, waitMs: redisWaitMs, header } = once;
  const rules = { lifetimeMs, redisWaitMs, header };
  if (tokens.cache === "memory") return { shared: undefined, ...rules };
  const keys = tokens.redis.encryptionKeys;
  const sealing: Sealing = {
    seal: (name, plain) => seal(keys, redisKey(name, "once"), plain),
    open: (name, sealed) => open(keys, redisKey(name, "once"), sealed),
  };
  return { shared: { claims, digestKeys: keys, sealing }, ...rules };
}

/** The environment of a listener's requests, and the host names by which it may be called. */
function contextOf(
  { bind, environment: name, hosts, callers: proofs }: ListenerConfig,
  config: Config,
  callers: CallerRegistry | undefined,
): ListenerContext {
  const environment = environmentOf(name, config);
  const listener = describeBind(bind);
  const known = { environment, environments: config.environments, listener, callers };
  if (bind.kind === "unix") return { ...known, hosts: "any", url: listener };
  const own = bind.host === "" ? [] : [bind.host.includes(":") ? `[${bind.host}]` : bind.host];
  return {
    ...known,
    hosts: new Set([...loopbackHosts, ...own, environment.baseUrl.host, ...hosts]),
    url: `${callersTlsOf(proofs) === undefined ? "http" : "https"}://${listener}`,
  };
}

function environmentOf(name: string, { environments }: Config): Environment {
  const environment = environments.get(name);
  if (environment === undefined) throw new Error("a listener names an environment that does not exist");
  return environment;
}
