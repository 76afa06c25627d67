import { createAdmin } from "../adapters/http-server/admin.ts";
import { createStatus } from "../adapters/http-server/status.ts";
import type { Config } from "../config/config.ts";
import type { Bind } from "../model/bind.ts";
import type { Report } from "../model/events.ts";
import { BufferBudget } from "../proxy/buffer-budget.ts";
import { defaultBudget } from "./default-budget.ts";
import type { Dependencies } from "./dependencies.ts";
import { createListeners, type Listeners } from "./listeners.ts";
import { type Observers, openObservers } from "./observers.ts";
import type { Reloadable } from "./reloadable.ts";
import { type Binding, plainBinding, Servers } from "./servers.ts";
import { openTokens, type Tokens } from "./tokens.ts";
import { openUpstreams, type Upstreams } from "./upstreams.ts";

/** Where the servers listen now. */
export interface Binds {
  /** In the configuration's order; real ports where 0 was asked for. */
  readonly listeners: readonly Bind[];
  readonly admin: Bind;
  readonly status: Bind;
}

/** All rooms and servers of the process, under one configuration at a time. */
export class App {
  readonly report: Report;
  readonly doors: Listeners;
  readonly #observers: Observers;
  readonly #upstreams: Upstreams;
  readonly #tokens: Tokens;
  readonly #rooms: readonly Reloadable[];
  readonly #servers: Servers;
  #inForce: Config;
  /** Until the first configuration is in force there is nothing to go back to. */
  #isEntered = false;

  constructor(first: Config, surroundings: Dependencies) {
    const { clock } = surroundings;
    this.#inForce = first;
    const budget = new BufferBudget(budgetOf(first, surroundings), clock);
    this.#observers = openObservers(
      { inForce: () => this.#inForce, connections: () => this.doors.connections(), budget },
      surroundings,
    );
    const { report } = this.#observers;
    this.#upstreams = openUpstreams(clock);
    const { send, postFormOf } = this.#upstreams;
    this.#tokens = openTokens(postFormOf, report, surroundings);
    const { tokensOf } = this.#tokens;
    this.doors = createListeners({ clock, report, send, tokensOf, buffers: budget });
    const limits: Reloadable = { prepare: () => {}, commit: (config) => budget.resize(budgetOf(config, surroundings)) };
    this.#rooms = [limits, this.#observers, this.#upstreams, this.#tokens, this.doors];
    this.#servers = new Servers({ clock, report });
    this.report = report;
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#inForce;
  }

  get binds(): Binds {
    const { listeners, admin, status } = this.#placesOf(this.#inForce);
    const bindOf = (place: Binding) => this.#servers.bindOf(place);
    return { listeners: listeners.map(bindOf), admin: bindOf(admin), status: bindOf(status) };
  }

  /**
   * Puts a configuration in force, or leaves everything as it was.
   * @param isWanted asked when all is prepared: whether it still is
   * @throws where it cannot listen
   */
  async apply(config: Config, isWanted: () => boolean = () => true): Promise<void> {
    try {
      await this.#observers.prepare(config);
      await this.#upstreams.prepare(config);
      await this.doors.prepare(config);
      // An address that is taken is found before a token is asked for. What comes in meanwhile waits (open-door.ts).
      await this.#servers.open(this.#allPlacesOf(config));
      await this.#tokens.prepare(config);
    } catch (error) {
      if (this.#isEntered) this.#use(this.#inForce);
      throw error;
    }
    this.#isEntered = true;
    this.#use(isWanted() ? config : this.#inForce);
    this.#tokens.warm();
  }

  /** Ends every connection and timer. */
  async close(): Promise<void> {
    this.#servers.close();
    await this.#tokens.close();
    await this.#upstreams.close();
  }

  #use(config: Config): void {
    this.#inForce = config;
    for (const room of this.#rooms) room.commit(config);
    this.#servers.keepOnly(this.#allPlacesOf(config));
  }

  #placesOf(config: Config): { listeners: readonly Binding[]; admin: Binding; status: Binding } {
    const { views } = this.#observers;
    // Nobody calls a pod that is not ready, so the probe itself is the demand for a first token.
    const readiness = () => {
      const view = views.readiness();
      if (view.awaitsToken) this.#tokens.warm();
      return view;
    };
    return {
      listeners: this.doors.placesOf(config),
      admin: plainBinding("admin", config.admin, () =>
        createAdmin({ ...views, readiness }, () => this.#inForce.adminHosts ?? []),
      ),
      status: plainBinding("status", config.status, () => createStatus(views)),
    };
  }

  #allPlacesOf(config: Config): Binding[] {
    const { listeners, admin, status } = this.#placesOf(config);
    return [...listeners, admin, status];
  }
}

function budgetOf({ limits }: Config, { memoryBytes }: Dependencies): number {
  return limits.bufferedBytes ?? defaultBudget(memoryBytes);
}
