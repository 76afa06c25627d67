import { createAdmin } from "../adapters/node-http/admin.ts";
import { prepareDrain } from "../adapters/node-http/drain.ts";
import { createStatus } from "../adapters/node-http/status.ts";
import { type Bind, describeBind } from "../bind.ts";
import { sleep } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { routes } from "../config/explain.ts";
import { version } from "../version.ts";
import { openDoors } from "./doors.ts";
import { openObservers } from "./observers.ts";
import { openServers } from "./servers.ts";
import { type Surroundings, systemSurroundings } from "./surroundings.ts";
import { openTokens } from "./tokens.ts";
import { openUpstreams } from "./upstreams.ts";

/** A proxy that is up. */
export interface Running {
  /** Where the listeners listen, in the configuration's order; real ports where 0 was asked for. */
  readonly listeners: readonly Bind[];
  readonly admin: Bind;
  readonly status: Bind;
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
export async function start(config: Config, given: Partial<Surroundings> = {}): Promise<Running> {
  const surroundings = { ...systemSurroundings, ...given };
  const { clock } = surroundings;
  const { report, adminViews, snapshot } = openObservers(config, surroundings);
  const upstreams = openUpstreams(config, clock);
  const tokens = openTokens(config, upstreams.postFormOf, report, surroundings);
  const doors = openDoors(config, { clock, report, send: upstreams.send, tokensOf: tokens.tokensOf });
  // Nobody calls a pod that is not ready, so the probe itself is the demand for a first token.
  const readiness = () => {
    const view = adminViews.readiness();
    if (view.awaitsToken) tokens.warm();
    return view;
  };
  const drain = prepareDrain(
    doors.listeners.map(({ server }) => server),
    clock,
  );
  const servers = await openServers([
    ...doors.listeners,
    { server: createAdmin({ ...adminViews, readiness }), bind: config.admin },
    { server: createStatus(snapshot), bind: config.status },
  ]);
  const listeners = servers.binds.slice(0, doors.listeners.length);
  const [admin = config.admin, status = config.status] = servers.binds.slice(doors.listeners.length);
  tokens.warm();
  const places = { admin: describeBind(admin), status: describeBind(status) };
  report({ kind: "started", version, configHash: config.hash, routes: routes(config), ...places });

  const end = async (signal: string) => {
    report({ kind: "draining", signal, inFlight: doors.inFlight() });
    if (config.drain.minMs > 0) await sleep(clock, config.drain.minMs);
    doors.announceClosing();
    const times = { openMs: config.timeouts.requestMs, onTimeUp: () => doors.close(), lateMs: lastWordsMs };
    const drained = await drain(times);
    servers.close();
    await tokens.close();
    await upstreams.close();
    report({ kind: "stopped", drained });
    return drained;
  };
  let ended: Promise<boolean> | undefined;
  const stop = (signal: string) => {
    ended ??= end(signal);
    return ended;
  };
  return { listeners, admin, status, stop };
}
