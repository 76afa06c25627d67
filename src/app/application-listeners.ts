import { randomUUID } from "node:crypto";
import { type Config, defaultOnce, type ListenerConfig } from "../config/config.ts";
import type { Caller } from "../model/caller.ts";
import type { Clock } from "../model/clock.ts";
import { type Callers, callersOf, callersTlsOf, describeBind } from "../model/listener.ts";
import type { Tracer } from "../proxy/access-event.ts";
import { CallerRegistry, RateLimit } from "../proxy/caller-registry.ts";
import { ConcurrencyLimit } from "../proxy/concurrency-limit.ts";
import { createRequestHandler, type RequestHandlerParts } from "../proxy/handler.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import type { OnceStore } from "../proxy/once-store.ts";
import { loopbackHosts } from "../proxy/target.ts";
import type { ServingOn } from "./hot-listener.ts";
import { KeyedResources, type Reloadable } from "./keyed-resources.ts";
import type { PassThrough } from "./pass-through.ts";

/** What listeners for applications serve with: the limits of environments, and the rates of callers. */
export interface ApplicationListeners extends Reloadable {
  servingOn(listener: ListenerConfig, config: Config): ServingOn;
  /** Requests that are being served, by environment. */
  inFlight(): ReadonlyMap<string, number>;
  /** From now on no request is let in, and streams that are still under way end. */
  refuseAll(): void;
}

type ApplicationListenersParts = Pick<RequestHandlerParts, "clock" | "report" | "send" | "tokensOf" | "buffers"> & {
  readonly tracerOf: (config: Config) => Tracer | undefined;
  readonly onceOf: (config: Config) => OnceStore | undefined;
  readonly passThrough: PassThrough;
};

export function openApplicationListeners({
  onceOf,
  tracerOf,
  passThrough,
  ...parts
}: ApplicationListenersParts): ApplicationListeners {
  const { clock } = parts;
  const limits = new ConcurrencyLimits(clock);
  /** Of pass-through routes, whose requests may take long. */
  const streamLimits = new ConcurrencyLimits(clock);
  /** How much each caller has called lately: one count for each name in an environment. */
  const rates = new KeyedResources<RateLimit>(clock);

  /** The callers of a listener of this environment; undefined where they have no names. */
  function registryOf(environment: string, callers: Callers | undefined): CallerRegistry | undefined {
    if (callers === undefined || callers.kind === "anyone" || callers.kind === "mtls") return undefined;
    return new CallerRegistry(callersOf(callers).map((caller) => ({ ...caller, rate: rateOf(environment, caller) })));
  }

  function rateOf(environment: string, { name, requestsPerSecond }: Caller): RateLimit | undefined {
    if (requestsPerSecond === undefined) return undefined;
    return rates.prepare(rateKey(environment, name), () => new RateLimit(requestsPerSecond, clock));
  }

  return {
    servingOn(listener, config) {
      const { environment: name, callers } = listener;
      const { requestMs } = config.timeouts;
      const context = contextOf(listener, config, registryOf(name, callers));
      const own = {
        ...parts,
        requestMs,
        upstreamHeaders: config.log.upstreamHeaders,
        newRequestId: randomUUID,
        once: { store: onceOf(config), lifetimeMs: (config.once ?? defaultOnce).ttlMs },
        tracer: tracerOf(config),
      };
      const main = createRequestHandler({ ...own, concurrency: limits.of(name, config) }, context);
      const handler =
        context.environment.passThrough === undefined
          ? main
          : passThrough.handlerFor(main, context, config, { ...own, concurrency: streamLimits.of(name, config) });
      return { handler, requestMs, settings: { ...config.limits, clock }, tls: callersTlsOf(callers) };
    },

    prepare() {},

    commit(config) {
      const environments = config.listeners.map(({ environment }) => environment);
      limits.commit(config, environments);
      streamLimits.commit(config, environments);
      const wanted = ratesOf(config);
      rates.commit(wanted.keys());
      for (const [key, requestsPerSecond] of wanted) rates.get(key)?.resize(requestsPerSecond);
    },

    inFlight() {
      const streams = streamLimits.inFlight();
      return new Map([...limits.inFlight()].map(([name, inFlight]) => [name, inFlight + (streams.get(name) ?? 0)]));
    },

    refuseAll() {
      limits.close();
      streamLimits.close();
      passThrough.endAll();
    },
  };
}

/** A limit for each environment. It outlives a reload, and `limits.inFlightPerEnvironment` resizes it. */
export class ConcurrencyLimits {
  readonly #limits: KeyedResources<ConcurrencyLimit>;

  constructor(clock: Clock) {
    this.#limits = new KeyedResources(clock);
  }

  of(environment: string, { limits, timeouts }: Config): ConcurrencyLimit {
    const create = () => new ConcurrencyLimit(limits.inFlightPerEnvironment);
    return this.#limits.prepare(environment, create, timeouts.requestMs);
  }

  /** Requests that are being served, by environment. */
  inFlight(): ReadonlyMap<string, number> {
    return new Map(this.#limits.entries().map(([environment, { inFlight }]) => [environment, inFlight]));
  }

  commit({ limits }: Config, environments: Iterable<string>): void {
    this.#limits.commit(environments);
    for (const limit of this.#limits.values()) limit.resize(limits.inFlightPerEnvironment);
  }

  /** From now on no request is let in. */
  close(): void {
    for (const limit of this.#limits.values()) limit.close();
  }
}

/** What a listener's requests belong to, and by which names it may be called. */
function contextOf(
  { bind, environment: name, hosts, callers: proofs }: ListenerConfig,
  config: Config,
  callers: CallerRegistry | undefined,
): ListenerContext {
  const environment = config.environments.get(name);
  if (environment === undefined) throw new Error("a listener names an environment that does not exist");
  const listener = describeBind(bind);
  const known = { environment, listener, callers };
  if (bind.kind === "unix") return { ...known, hosts: "any", url: listener };
  const own = bind.host === "" ? [] : [bind.host.includes(":") ? `[${bind.host}]` : bind.host];
  return {
    ...known,
    hosts: new Set([...loopbackHosts, ...own, environment.baseUrl.host, ...hosts]),
    url: `${callersTlsOf(proofs) === undefined ? "http" : "https"}://${listener}`,
  };
}

/** The callers' rates in requests per second, by the keys of their limits. */
function ratesOf({ listeners }: Config): ReadonlyMap<string, number> {
  const rates = listeners.flatMap(({ environment, callers }) =>
    callersOf(callers).flatMap(({ name, requestsPerSecond }) =>
      requestsPerSecond === undefined ? [] : [[rateKey(environment, name), requestsPerSecond] as const],
    ),
  );
  return new Map(rates);
}

function rateKey(environment: string, caller: string): string {
  return `${environment} ${caller}`;
}
