import { setTimeout as delay } from "node:timers/promises";
import { call } from "../../../testkit/call.ts";
import { authorised, type Scene } from "./ask.ts";
import type { Lane } from "./lane.ts";
import { scenesOfCallbacks } from "./scenes-of-callbacks.ts";
import { scenesOfOrders } from "./scenes-of-orders.ts";
import { scenesOfRoutes } from "./scenes-of-routes.ts";
import { scenesOfTokens } from "./scenes-of-tokens.ts";

/** Has the configuration read again, and waits for what comes of it. */
async function reload(lane: Lane, isOther: boolean): Promise<void> {
  const before = lane.written().stdout.length;
  lane.configure({ isOther });
  lane.program.child.kill("SIGHUP");
  const isDone = () => /"event":"(config_|defect)/.test(lane.written().stdout.slice(before));
  for (let tries = 0; tries < 100 && !isDone() && !lane.hasEnded; tries++) await delay(20);
}

const reloading: Scene = {
  name: "another configuration, and back",
  async play(lane) {
    await reload(lane, true);
    const reply = await authorised(lane);
    await reload(lane, false);
    return [reply, await authorised(lane)];
  },
};

const scraping: Scene = {
  name: "Prometheus scrapes OpenMetrics, packed",
  async play(lane) {
    const headers = { Accept: "application/openmetrics-text; version=1.0.0", "Accept-Encoding": "gzip" };
    await call(lane.adminUrl, "", { method: "GET", path: "/metrics", headers }).catch(() => {});
    return [await authorised(lane)];
  },
};

/** In the order in which points are looked for; each is tried in the first scene that reaches it. */
export const scenes: readonly Scene[] = [
  ...scenesOfOrders,
  ...scenesOfCallbacks,
  ...scenesOfRoutes,
  ...scenesOfTokens,
  reloading,
  scraping,
];
