import type { Config } from "../config/config.ts";
import { routes } from "../config/explain.ts";
import { describeBind } from "../model/bind.ts";
import { sleep } from "../model/clock.ts";
import type { Report } from "../model/events.ts";
import type { ReloadTrigger } from "../model/process-events.ts";
import { version } from "../version.ts";
import { App, type Binds } from "./app.ts";
import { type Dependencies, systemDependencies } from "./dependencies.ts";

/** A proxy that is up. */
export interface Running extends Binds {
  /** The configuration in force. */
  readonly config: Config;
  /** Tells a fact to metrics, status and the outside. */
  readonly report: Report;
  /**
   * Puts another configuration in force without a failed request: listeners that stay keep their connections, requests
   * under way end as they began, and what the two share goes on, tokens first of all. One at a time.
   * @throws where it cannot listen; then everything is as it was
   */
  apply(config: Config, trigger: ReloadTrigger): Promise<void>;
  /**
   * Drains and ends: open requests get the `timeouts.request` that they were accepted with to finish, latecomers 503 for a
   * moment. Asked again, it waits for the same end.
   * @returns whether every request had ended by itself
   */
  stop(signal: string): Promise<boolean>;
}

/** Puts the parts together and opens the doors; tokens are fetched in the background. */
export async function start(first: Config, given: Partial<Dependencies> = {}): Promise<Running> {
  const surroundings = { ...systemDependencies, ...given };
  const house = new App(first, surroundings);
  const { report } = house;
  await house.apply(first).catch(async (error) => {
    await house.close();
    throw error;
  });
  const { admin, status } = house.binds;
  const places = { admin: describeBind(admin), status: describeBind(status) };
  report({ kind: "started", version, configHash: first.hash, routes: routes(first), ...places });

  let ended: Promise<boolean> | undefined;
  return {
    report,
    get config() {
      return house.config;
    },
    get listeners() {
      return house.binds.listeners;
    },
    get admin() {
      return house.binds.admin;
    },
    get status() {
      return house.binds.status;
    },
    async apply(config, trigger) {
      // Whoever is leaving takes up nothing new.
      if (ended !== undefined) return;
      const { hash: previousHash } = house.config;
      await house.apply(config, () => ended === undefined);
      if (house.config !== config) return;
      report({ kind: "config_applied", hash: config.hash, previousHash, trigger, routes: routes(config) });
    },
    stop(signal) {
      ended ??= end(house, surroundings, signal);
      return ended;
    },
  };
}

async function end(house: App, { clock }: Dependencies, signal: string): Promise<boolean> {
  const { drain } = house.config;
  const { report, doors } = house;
  report({ kind: "draining", signal, inFlight: doors.inFlight() });
  if (drain.minMs > 0) await sleep(clock, drain.minMs);
  const drained = await doors.drain();
  await house.close();
  report({ kind: "stopped", drained });
  return drained;
}
