import { setTimeout as delay } from "node:timers/promises";
import { authorised, type Reply, type Scene } from "./ask.ts";
import type { Armed } from "./control.ts";
import type { Lane } from "./lane.ts";
import { revive, type Task } from "./scout.ts";
import { judgeEnd, judgeLiving } from "./verdict.ts";

/** What became of a process at which a failure was brought about, and what is wrong with that. */
export interface Played {
  readonly became: "lived" | "ended" | "not met";
  readonly wrong: readonly string[];
}

/** A drain lets go of idle connections after half a second, and of open requests after two; a busy machine takes longer. */
const stopMs = 20_000;

/** Brings one failure about and judges what comes of it. */
export async function play(lane: Lane, { point, how, occasion }: Task): Promise<Played> {
  const armed = { id: point.id, how, isPlace: occasion === "start" || point.place.includes("/listen.js:") };
  if (occasion === "start") return await playStart(lane, armed);
  await revive(lane);
  if (occasion === "stop") return await playStop(lane, armed);
  if (occasion === "standing") return await playStanding(lane, armed);
  return await playScene(lane, armed, occasion, point.kind === "emitter");
}

async function playStart(lane: Lane, armed: Armed): Promise<Played> {
  if (!lane.hasEnded) await lane.kill();
  if (!(await lane.start(armed))) {
    await lane.kill();
    return { became: "ended", wrong: ["it neither starts nor ends"] };
  }
  // Tokens are fetched in the background: an order waits for that.
  await Promise.race([authorised(lane), lane.program.ended]);
  if (!lane.hasEnded) return await judge(lane, armed, [], false);
  return { became: "ended", wrong: await judgeEnd(lane, armed, await lane.program.ended, "at the start") };
}

async function playStop(lane: Lane, armed: Armed): Promise<Played> {
  await lane.control.order("arm", { ...armed, holds: false });
  lane.program.child.kill("SIGTERM");
  const end = await Promise.race([lane.program.ended, delay(stopMs, "neither")]);
  if (end === "neither") {
    await lane.kill();
    return { became: "lived", wrong: ["told to end, it does not end"] };
  }
  const became = lane.control.lastWord()?.hasFired === false ? "not met" : "ended";
  return { became, wrong: await judgeEnd(lane, armed, end, "when told to") };
}

async function playStanding(lane: Lane, armed: Armed): Promise<Played> {
  if ((await lane.control.order("fail", armed)) === false) return { became: "not met", wrong: [] };
  return await judge(lane, armed, [], true);
}

async function playScene(lane: Lane, armed: Armed, scene: Scene, breaksConnections: boolean): Promise<Played> {
  await lane.control.order("arm", { ...armed, holds: true });
  return await judge(lane, armed, await scene.play(lane), breaksConnections);
}

/** A process that serves, or would do so if its end were not held back. */
async function judge(lane: Lane, armed: Armed, replies: readonly Reply[], isCallerBroken: boolean): Promise<Played> {
  // A failure in what nobody waits for shows a moment later.
  await delay(20);
  const outcome = await lane.control.outcome();
  if (outcome === undefined || lane.hasEnded) {
    return { became: "ended", wrong: await judgeEnd(lane, armed, await lane.program.ended, "while serving") };
  }
  const [exit] = outcome.exits;
  if (exit !== undefined) return { became: "ended", wrong: await judgeEnd(lane, armed, exit, "while serving") };
  const isMet = outcome.hasFired || isCallerBroken;
  return isMet
    ? { became: "lived", wrong: await judgeLiving(lane, isCallerBroken ? [] : replies) }
    : { became: "not met", wrong: [] };
}
