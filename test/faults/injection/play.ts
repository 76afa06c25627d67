import { setTimeout as delay } from "node:timers/promises";
import { authorised, type Reply, type Scene, signed } from "./ask.ts";
import type { Armed } from "./control.ts";
import type { Lane } from "./lane.ts";
import { revive, type Task } from "./scout.ts";

/** The state of a process after a failure, and everything that is wrong with it. */
export interface Played {
  readonly became: "lived" | "ended" | "not met";
  readonly wrong: readonly string[];
}

/** A drain ends idle connections after half a second, and open requests after two; a busy machine takes longer. */
const stopMs = 20_000;

/** Causes one failure and judges the result. */
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
  // Tokens are fetched in the background: an order waits for them.
  await Promise.race([authorised(lane), lane.program.ended]);
  if (!lane.hasEnded) return await judge(lane, armed, [], false);
  return { became: "ended", wrong: await judgeEnd(lane, armed, await lane.program.ended, "at the start") };
}

async function playStop(lane: Lane, armed: Armed): Promise<Played> {
  lane.trial = await lane.control.arm(armed, false);
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
  lane.trial = await lane.control.arm(armed, true);
  return await judge(lane, armed, await scene.play(lane), breaksConnections);
}

/** Judges a process that serves, or whose end is held back. */
async function judge(lane: Lane, armed: Armed, replies: readonly Reply[], isCallerBroken: boolean): Promise<Played> {
  // A failure that nothing awaits shows a moment later.
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

/** Long, since tests run on busy machines; only a fault waits for its end. */
const patienceMs = 20_000;
const lookEveryMs = 20;

/** The faults of a process that survived a failure; empty if there are none. */
async function judgeLiving(lane: Lane, replies: readonly Reply[]): Promise<string[]> {
  const bare = replies.filter((reply) => typeof reply !== "number");
  const wrong = bare.map((reply) => `a caller got no status: ${reply}`);
  const next = await signed(lane);
  if (next !== 200) wrong.push(`the next order got ${next}`);
  const inFlight = async () => (await lane.metric("countersign_requests_in_flight")) ?? 0;
  if (!(await comesTrue(async () => (await inFlight()) <= lane.inFlightBefore))) {
    wrong.push("a request is in flight for ever");
  }
  if (!(await comesTrue(async () => (await lane.redis.keys("countersign:*:lock")).length === 0))) {
    wrong.push("a lock is left behind");
  }
  return [...wrong, ...judgeOutput(lane, { most: 1 })];
}

/** When a process ended. */
type End = "while serving" | "at the start" | "when told to";

/**
 * The faults of a process's end. A process that serves may be ended by a defect only, with one line and 70; at the start it
 * may refuse to serve, with a message for people; when it is told to end, it must end.
 * @param end its exit code, or the signal that ended it
 */
async function judgeEnd(lane: Lane, { how }: Armed, end: unknown, occasion: End): Promise<string[]> {
  if (occasion === "when told to" && end === 0) return judgeOutput(lane, { most: 1 });
  if (occasion === "at the start" && end === 2) return judgeOutput(lane, { most: 0, mayExplain: true });
  // If the end is held back, the line may not have arrived yet.
  await comesTrue(async () => defectsIn(lane).length > 0);
  // Output after an end that was held back would not exist otherwise.
  const wrong = lane.hasEnded
    ? judgeOutput(lane, { least: 1, most: 1 })
    : judgeOutput(lane, { least: 1, most: Number.POSITIVE_INFINITY, mayExplain: true });
  if (end !== 70) wrong.push(`it ended with ${end}`);
  if (how === "foreseen" && occasion !== "when told to") {
    wrong.push(`a foreseen failure ended it with ${end}: ${defectsIn(lane).at(-1)?.slice(0, 600)}`);
  }
  return wrong;
}

interface Expected {
  /** How many lines about a defect there must be. */
  readonly least?: number;
  readonly most: number;
  /** Standard error may hold a message for people. */
  readonly mayExplain?: boolean;
}

function judgeOutput(lane: Lane, { least = 0, most, mayExplain = false }: Expected): string[] {
  const { stdout, stderr } = lane.written();
  const all = defectsIn(lane);
  const defects = all.length > most ? all.filter((line) => !isOfEarlierTrial(line, lane)) : all;
  for (const line of all) lane.reported.add(trialOf(line));
  const wrong: string[] = [];
  if (defects.length < least || defects.length > most) {
    wrong.push(`${defects.length} lines about a defect: ${defects.map((line) => line.slice(0, 300)).join(" and ")}`);
  }
  const others = stderr.split("\n").filter((line) => line !== "" && !isDefect(line));
  if (others.length > 0 && !mayExplain) wrong.push(`on standard error: ${others.join(" ").slice(0, 200)}`);
  if (`${stdout}${stderr}`.includes("canary")) wrong.push("it quotes the error's message");
  return wrong;
}

function defectsIn(lane: Lane): string[] {
  const { stdout, stderr } = lane.written();
  return `${stdout}\n${stderr}`.split("\n").filter(isDefect);
}

/** A failure in the background may be reported late, during a later trial; but each trial's failure is reported once. */
function isOfEarlierTrial(line: string, { trial, reported }: Lane): boolean {
  const number = trialOf(line);
  return trial !== undefined && number !== undefined && number !== trial && !reported.has(number);
}

function trialOf(line: string): number | undefined {
  const [, number] = /\btrial(\d+) \(/.exec(line) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** Whether a line reports a defect: in the log or, before the log is open, on standard error, for people. */
function isDefect(line: string): boolean {
  return line.includes('"event":"defect"') || line.startsWith("A defect in countersign: ");
}

async function comesTrue(isTrue: () => Promise<boolean>): Promise<boolean> {
  for (const untilMs = performance.now() + patienceMs; performance.now() < untilMs; await delay(lookEveryMs)) {
    if (await isTrue().catch(() => false)) return true;
  }
  return false;
}
