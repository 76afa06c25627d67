import { createAdmin, createStatus } from "../adapters/http-server/read-only-server.ts";
import type { Config } from "../config/config.ts";
import { routes } from "../config/explain.ts";
import { type Clock, sleep, takeTurns } from "../model/clock.ts";
import type { ReloadTrigger, Report } from "../model/events.ts";
import { describeBind } from "../model/listener.ts";
import { BufferBudget } from "../proxy/buffer-budget.ts";
import { version } from "../version.ts";
import { type Dependencies, systemDependencies } from "./dependencies.ts";
import { type Handlers, openHandlers } from "./handlers.ts";
import type { Reloadable } from "./keyed-resources.ts";
import { type Binds, type Listeners, openListeners } from "./listeners.ts";
import { openObservers, type Snapshots } from "./observers.ts";
import { defaultBudget } from "./process-limits.ts";
import { reportSites } from "./site-changes.ts";
import { openTokens, type Tokens } from "./token-sources.ts";
import { openTracing } from "./tracing.ts";
import { openUpstreams } from "./upstreams.ts";

/**
 * Starts the proxy; tokens are fetched in the background.
 * @throws where it cannot listen
 */
export async function start(first: Config, given: Partial<Dependencies> = {}): Promise<App> {
  const app = new App(first, { ...systemDependencies, ...given });
  await app.start();
  return app;
}

/** All parts of the process, under one configuration at a time. */
export class App {
  /** Reports an event to metrics, status and the outside. */
  readonly report: Report;
  readonly #clock: Clock;
  readonly #tokens: Tokens;
  readonly #handlers: Handlers;
  readonly #listeners: Listeners;
  /** In the order in which they prepare: an address that is taken is found before a token is asked for. */
  readonly #parts: readonly Reloadable[];
  /** In the order in which they end: tracing comes last, so that it has the spans of all the others. */
  readonly #closing: readonly { close(): Promise<void> }[];
  #active: Config;
  /** Until the first configuration is active, there is nothing to return to. */
  #isStarted = false;
  #stopped: Promise<boolean> | undefined;
  #isClosed = false;

  constructor(first: Config, dependencies: Dependencies) {
    const { clock, memoryBytes } = dependencies;
    this.#clock = clock;
    this.#active = first;
    const bufferedBytes = ({ limits }: Config) => limits.bufferedBytes ?? defaultBudget(memoryBytes);
    const budget = new BufferBudget(bufferedBytes(first), clock);
    const memory: Reloadable = { prepare() {}, commit: (config) => budget.resize(bufferedBytes(config)) };
    const snapshots: Snapshots = {
      config: () => this.#active,
      routes: () => this.#routes(),
      credentials: () => this.#tokens.credentials(),
      redis: () => this.#tokens.redis(this.#active),
      connections: () => this.#listeners.connections(),
      inFlight: () => this.#handlers.inFlight(),
      buffers: () => budget,
    };
    const observers = openObservers(snapshots, dependencies);
    const { report, views } = observers;
    this.report = report;
    const upstreams = openUpstreams(clock, report);
    const tracing = openTracing(report, dependencies);
    const { tracerOf, observeTokens } = tracing;
    this.#tokens = openTokens(upstreams.tokenEndpointOf, observeTokens(report), dependencies);
    const { tokensOf, claimsOf } = this.#tokens;
    // A pod that is not ready gets no requests, so the probe itself is the demand for a first token.
    const readiness = () => {
      const view = views.readiness();
      if (view.awaitsToken) this.#tokens.warm();
      return view;
    };
    this.#handlers = openHandlers({ clock, report, upstreams, tokensOf, tracerOf, claimsOf, buffers: budget });
    const forReaders = { clock, buffers: new BufferBudget(Number.POSITIVE_INFINITY, clock) };
    this.#listeners = openListeners({
      clock,
      report,
      handlers: this.#handlers,
      createAdmin: () => createAdmin({ ...views, readiness }, forReaders, () => this.#active.adminHosts),
      createStatus: () => createStatus(views, forReaders),
    });
    this.#parts = [memory, observers, tracing, upstreams, this.#listeners, this.#handlers, this.#tokens];
    this.#closing = [this.#listeners, this.#tokens, upstreams, tracing];
  }

  /** The active configuration. */
  get config(): Config {
    return this.#active;
  }

  get binds(): Binds {
    return this.#listeners.bindsOf(this.#active);
  }

  /** @throws where it cannot listen */
  async start(): Promise<void> {
    await this.#activate(this.#active).catch(async (error) => {
      await this.#close();
      throw error;
    });
    const binds = { admin: describeBind(this.binds.admin), status: describeBind(this.binds.status) };
    const { hash: configHash } = this.#active;
    this.report({ kind: "started", version, configHash, routes: this.#routes(), ...binds });
    reportSites(undefined, this.#active, this.report);
  }

  /**
   * Takes another configuration without a failed request: listeners that stay keep their connections, requests under way
   * end as they began, and what the two share goes on, tokens first of all. One at a time; none once it stops.
   * @throws where it cannot listen; then everything is as it was
   */
  async apply(config: Config, trigger: ReloadTrigger): Promise<void> {
    if (this.#stopped !== undefined) return;
    const before = this.#active;
    await this.#activate(config);
    await takeTurns();
    if (this.#active !== config) return;
    const { hash: previousHash } = before;
    this.report({ kind: "config_applied", hash: config.hash, previousHash, trigger, routes: this.#routes() });
    reportSites(before, config, this.report);
  }

  /**
   * Drains and ends: open requests get the `timeouts.request` that they were accepted with, latecomers a 503. Called
   * again, it waits for the same end.
   * @returns whether every request had ended by itself
   */
  stop(signal: string): Promise<boolean> {
    this.#stopped ??= this.#drain(signal);
    return this.#stopped;
  }

  #routes(): readonly string[] {
    return routes(this.#active, this.binds);
  }

  async #activate(config: Config): Promise<void> {
    try {
      for (const part of this.#parts) {
        await takeTurns();
        await part.prepare(config);
      }
      await takeTurns();
    } catch (error) {
      if (this.#isStarted) this.#commit(this.#active);
      throw error;
    }
    this.#isStarted = true;
    this.#commit(this.#stopped === undefined ? config : this.#active);
    this.#tokens.warm();
  }

  #commit(config: Config): void {
    // What was prepared after the end must end as well.
    if (this.#isClosed) return void this.#close();
    this.#active = config;
    for (const part of this.#parts) part.commit(config);
  }

  async #drain(signal: string): Promise<boolean> {
    const { minMs } = this.#active.drain;
    const inFlight = [...this.#handlers.inFlight().values()].reduce((sum, each) => sum + each, 0);
    this.report({ kind: "draining", signal, inFlight });
    if (minMs > 0) await sleep(this.#clock, minMs);
    const drained = await this.#listeners.drain();
    await this.#close();
    this.report({ kind: "stopped", drained });
    return drained;
  }

  /** Ends every connection and timer. */
  async #close(): Promise<void> {
    this.#isClosed = true;
    for (const part of this.#closing) await part.close();
  }
}
