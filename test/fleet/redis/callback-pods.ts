import { type FleetOptions, type Replica, startFleet } from "../../../testkit/fleet.ts";
import { freePort } from "../../../testkit/free-port.ts";
import type { Application } from "../../../testkit/stage/callbacks.ts";
import { site } from "../../promises/callbacks/sender.ts";

/** A process and the port of its listener for callbacks. */
export type CallbackPod = Replica & { readonly port: number };

/** Processes that share a Redis and lead to one application. */
export async function startCallbackPods(
  count: number,
  { url }: Application,
  {
    replay = "strict",
    more = "",
    ...options
  }: Pick<FleetOptions, "redis" | "simulator" | "more"> & { replay?: string },
) {
  const moreSites = `${site}: { keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ] }`;
  const fleet = await startFleet({ ...options, replicas: 0, moreSites });
  const pods: CallbackPod[] = [];
  for (let index = 0; index < count; index += 1) {
    const port = await freePort();
    const to = `application: { url: "${url}", timeout: 2s }, replay: ${replay}`;
    const listener = `{ bind: "127.0.0.1:${port}", environment: sandbox, ${to} }`;
    pods.push({ ...(await fleet.add({ more: `${more}\ncallbacks: [ ${listener} ]` })), port });
  }
  return { fleet, pods };
}
