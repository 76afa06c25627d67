import { createAdmin } from "../adapters/node-http/admin.ts";
import { createStatus } from "../adapters/node-http/status.ts";
import { type Bind, describeBind } from "../bind.ts";
import { sleep } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { routes } from "../config/explain.ts";
import type { ReloadTrigger, Report } from "../events.ts";
import { version } from "../version.ts";
import { openDoors } from "./doors.ts";
import { openObservers } from "./observers.ts";
import type { Room } from "./room.ts";
import { plainPlace, Servers } from "./servers.ts";
import { type Surroundings, systemSurroundings } from "./surroundings.ts";
import { openTokens } from "./tokens.ts";
import { openUpstreams } from "./upstreams.ts";

/** A proxy that is up. */
export interface Running {
  /** The configuration in force. */
  readonly config: Config;
  /** Tells a fact to metrics, status and the outside. */
  readonly report: Report;
  /** Where the listeners listen, in the configuration's order; real ports where 0 was asked for. */
  readonly listeners: readonly Bind[];
  readonly admin: Bind;
  readonly status: Bind;
  /**
   * Puts another configuration in force without a failed request: listeners that stay keep their connections, requests
   * under way end as they began, and what the two share goes on, tokens first of all. One at a time.
   * @throws where it cannot listen; then everything is as it was
   */
  follow(config: Config, trigger: ReloadTrigger): Promise<void>;
  /**
   * Drains and ends: open requests get `timeouts.request` to finish, latecomers 503 for a moment. Asked again, it waits
   * for the same end.
   * @returns whether every request had ended by itself
   */
  stop(signal: string): Promise<boolean>;
}

/** Time for the last answers and for 503s to latecomers, after the last request could have ended. */
const lastWordsMs = 2_000;

/** Puts the parts together and opens the doors; tokens are fetched in the background. */
export async function start(first: Config, given: Partial<Surroundings> = {}): Promise<Running> {
  const surroundings = { ...systemSurroundings, ...given };
  const { clock } = surroundings;
  let inForce = first;
  let ended: Promise<boolean> | undefined;
  const observers = openObservers(() => inForce, surroundings);
  const { report, views } = observers;
  const upstreams = openUpstreams(clock);
  const tokens = openTokens(upstreams.postFormOf, report, surroundings);
  const doors = openDoors({ clock, report, send: upstreams.send, tokensOf: tokens.tokensOf });
  const rooms: readonly Room[] = [observers, upstreams, tokens, doors];
  const servers = new Servers();

  // Nobody calls a pod that is not ready, so the probe itself is the demand for a first token.
  const readiness = () => {
    const view = views.readiness();
    if (view.awaitsToken) tokens.warm();
    return view;
  };
  const placesOf = (config: Config) => ({
    listeners: doors.placesOf(config),
    admin: plainPlace("admin", config.admin, () => createAdmin({ ...views, readiness })),
    status: plainPlace("status", config.status, () => createStatus(views)),
  });
  const allPlacesOf = (config: Config) => {
    const { listeners, admin, status } = placesOf(config);
    return [...listeners, admin, status];
  };

  const use = (config: Config) => {
    inForce = config;
    for (const room of rooms) room.use(config);
    servers.keepOnly(allPlacesOf(config));
    tokens.warm();
  };
  const enter = async (config: Config) => {
    try {
      for (const room of rooms) await room.prepare(config);
      await servers.open(allPlacesOf(config));
    } catch (error) {
      use(inForce);
      throw error;
    }
    // Whoever is leaving takes up nothing new.
    use(ended === undefined ? config : inForce);
  };
  const close = async () => {
    servers.close();
    await tokens.close();
    await upstreams.close();
  };

  await enter(first).catch(async (error) => {
    await close();
    throw error;
  });
  const bindsOf = ({ listeners, admin, status } = placesOf(inForce)) => ({
    listeners: listeners.map((place) => servers.bindOf(place)),
    admin: servers.bindOf(admin),
    status: servers.bindOf(status),
  });
  const { admin, status } = bindsOf();
  const own = { admin: describeBind(admin), status: describeBind(status) };
  report({ kind: "started", version, configHash: first.hash, routes: routes(first), ...own });

  const end = async (signal: string) => {
    const { drain, timeouts } = inForce;
    report({ kind: "draining", signal, inFlight: doors.inFlight() });
    if (drain.minMs > 0) await sleep(clock, drain.minMs);
    const drained = await doors.drain(timeouts.requestMs, lastWordsMs);
    await close();
    report({ kind: "stopped", drained });
    return drained;
  };
  return {
    report,
    get config() {
      return inForce;
    },
    get listeners() {
      return bindsOf().listeners;
    },
    get admin() {
      return bindsOf().admin;
    },
    get status() {
      return bindsOf().status;
    },
    async follow(config, trigger) {
      const previousHash = inForce.hash;
      await enter(config);
      if (inForce !== config) return;
      report({ kind: "config_applied", hash: config.hash, previousHash, trigger, routes: routes(config) });
    },
    stop(signal) {
      ended ??= end(signal);
      return ended;
    },
  };
}
