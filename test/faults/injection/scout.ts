import { setTimeout as delay } from "node:timers/promises";
import { authorised, type Scene } from "./ask.ts";
import type { Armed } from "./control.ts";
import type { Faulty, Point } from "./instrument.ts";
import type { Lane } from "./lane.ts";
import { scenes } from "./scenes.ts";

/**
 * When a point is tried: in a scene; at the start of a process or at its end; or at any time (`standing`), for an emitter that
 * exists since the start.
 */
export type Occasion = Scene | "start" | "stop" | "standing";

/** One failure to cause. */
export interface Task {
  readonly point: Point;
  readonly how: Armed["how"];
  readonly occasion: Occasion;
}

/** Plays everything without a failure, to see which points are reached when. */
export async function scout(lane: Lane, { points }: Faulty): Promise<{ tasks: Task[]; unreached: Point[] }> {
  const found = new Map<number, Occasion>();
  const note = (ids: readonly number[], occasion: Occasion) => {
    for (const id of ids) if (!found.has(id)) found.set(id, occasion);
  };
  // The second process finds the socket that the first one left behind.
  await lane.start();
  await lane.kill();
  await lane.start();
  await isWell(lane);
  const atStart = await reached(lane);
  for (const scene of scenes) {
    await revive(lane);
    await lane.control.order("reached");
    await scene.play(lane);
    note(await reached(lane), scene);
  }
  note(atStart, "start");
  await lane.program.stop();
  note(lane.control.lastWord()?.reached ?? [], "stop");
  const standing = new Set(atStart);
  const tasks = points.flatMap((point): Task[] => {
    const occasion = found.get(point.id);
    if (occasion === undefined) return [];
    if (point.kind === "emitter") {
      return [{ point, how: "foreseen", occasion: standing.has(point.id) ? "standing" : occasion }];
    }
    const defect: Task = { point, how: "defect", occasion };
    if (point.kind === "callback" || point.isGuarded) return [defect];
    const foreseen: Task = { point, how: "foreseen", occasion };
    // Each trial needs a process, and both failures have the same result: it does not start, or it ends.
    return occasion === "start" || occasion === "stop" ? [foreseen] : [foreseen, defect];
  });
  return { tasks, unreached: points.filter(({ id }) => !found.has(id)) };
}

/** Ends the after-effects of a failure: pauses, a breaker, refused tokens. If that fails, starts a new process. */
export async function revive(lane: Lane): Promise<void> {
  lane.simulator.faults.clear();
  lane.configure({ isOther: false });
  lane.server.cont();
  if (!lane.hasEnded && lane.adminUrl !== "") {
    await lane.redis.flushdb();
    await lane.control.order("skip", { ms: 600_000 });
    if (await isWell(lane)) return await lane.mark();
  }
  if (!lane.hasEnded) await lane.kill();
  await lane.start();
  await isWell(lane);
  await lane.mark();
}

/** The longest wait for an answer of a process whose end was held back: it may never answer again. */
const reviveMs = 4_000;

async function isWell(lane: Lane): Promise<boolean> {
  const untilMs = performance.now() + reviveMs;
  while (performance.now() < untilMs && !lane.hasEnded) {
    const isUp = await lane.metric("countersign_redis_up").catch(() => 0);
    const written = lane.program.stdout().length;
    if (isUp === 1 && (await authorised(lane)) === 200) {
      // Lines keep their order: once the order's own line has come, so have all lines before it.
      while (performance.now() < untilMs && !lane.program.stdout().includes('"request_finished"', written))
        await delay(5);
      const [name] = await lane.redis.keys("countersign:*:token");
      lane.tokenName = name ?? lane.tokenName;
      return true;
    }
    await delay(100);
  }
  return false;
}

async function reached(lane: Lane): Promise<number[]> {
  const ids = await lane.control.order("reached");
  return Array.isArray(ids) ? ids : [];
}
