/**
 * The stage of the tests over sockets. All of it is in this process, and ends with the test:
 *
 *   caller ─▶ Countersign ─▶ service, and authorization server
 *
 * Without a preset the simulator is both servers, and the test calls `url`. A preset starts other peers, or sets Countersign up for
 * them, and shows them to the test. Options are laid over what the preset sets. Processes are started by `startFleet` and `startServe`.
 */
import { application, callbacks } from "./stage/callbacks.ts";
import { egress } from "./stage/egress.ts";
import { route, routeTo, routeToServer, webSocket } from "./stage/pass-through.ts";
import { once, replica } from "./stage/redis.ts";
import { connection, living, service, token } from "./stage/service.ts";
import { type Stage, type StageOptions, startStage } from "./stage/start.ts";
import { tracing } from "./stage/tracing.ts";

export { audience, bothSite, canaries, childSite, hmacSite, oauthSite } from "./simulated-sites.ts";
export type { Stage, StageOptions } from "./stage/start.ts";

const presets = {
  service,
  token,
  connection,
  living,
  tracing,
  egress,
  callbacks,
  application,
  route,
  routeTo,
  routeToServer,
  webSocket,
  once,
  replica,
};

type Presets = typeof presets;

/** What a preset gives to the test. */
export type StageOf<Name extends keyof Presets> = Awaited<ReturnType<Presets[Name]>>;

export function stage(options?: StageOptions): Promise<Stage>;
export function stage<Name extends keyof Presets>(
  preset: Name,
  ...given: Parameters<Presets[Name]>
): Promise<StageOf<Name>>;
export function stage(first: keyof Presets | StageOptions = {}, ...given: unknown[]): Promise<Stage> {
  if (typeof first !== "string") return startStage(first);
  const open = presets[first] as (...given: unknown[]) => Promise<Stage>;
  return open(...given);
}
