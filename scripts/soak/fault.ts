import type { Simulator } from "../../simulator/src/service/simulator.ts";
import type { RealRedis } from "../../testkit/redis.ts";
import type { Callers } from "./callers.ts";
import type { Fleet } from "./fleet.ts";

/** What faults are made with. */
export interface Scene {
  readonly simulator: Simulator;
  readonly redis: RealRedis;
  readonly fleet: Fleet;
  readonly callers: Callers;
}

/** Something that goes wrong for a while. */
export interface Fault {
  readonly name: string;
  /** What callers may see of it, as `labelOf` says it; nothing else is explained by it. */
  readonly allows: readonly string[];
  /** Callers must see something of it when it lasts longer than this; otherwise they need not. */
  readonly feltAfterMs?: number;
  /** How many tokens it may cost each replica; and how many more with each second that it lasts. */
  readonly tokens: number;
  readonly tokensPerSecond?: number;
  /** @returns how to end it */
  begin(scene: Scene): Promise<() => Promise<void>>;
}
