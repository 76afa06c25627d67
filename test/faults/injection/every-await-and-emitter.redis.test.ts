/**
 * A failure at every await, at every emitter and in every function that others call, in all code that serves.
 *
 * The built files are copied, and each such point of the copy asks whether it shall fail (instrument.ts, runtime.mjs).
 * First all scenes are played without a failure, to see which points each reaches. Then each point fails once in each
 * way: by a broken connection, which any await may meet (foreseen), and by a TypeError (a defect). A foreseen failure must
 * not end the process, unless it prevents the start. A defect may end it, with exit 70 and one line that does not quote the
 * error. While the process lives, every caller gets a status, the next order is served, and no request or lock stays for ever.
 */
import { expect, it } from "vitest";
import { buildFaulty } from "./instrument.ts";
import { Lane } from "./lane.ts";
import { play } from "./play.ts";
import { scout } from "./scout.ts";

/** The number of processes that are tested at the same time. */
const lanes = 5;
/** The least share of points that scenes must reach; the others are printed. */
const leastReached = 0.85;

it("serves on after each failure, or ends with one redacted line and exit 70", { timeout: 600_000 }, async () => {
  const faulty = buildFaulty();
  const [first, ...others] = await Promise.all(Array.from({ length: lanes }, () => Lane.open(faulty)));
  if (first === undefined) throw new Error("no lane");
  const { tasks, unreached } = await scout(first, faulty);

  const counts = { lived: 0, ended: 0, "not met": 0 };
  const wrong: string[] = [];
  const queue = [...tasks];
  const work = async (lane: Lane) => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const { became, wrong: found } = await play(lane, task);
      counts[became] += 1;
      const { point, how, occasion } = task;
      const where = typeof occasion === "string" ? occasion : occasion.name;
      wrong.push(...found.map((what) => `${what}: ${how} at ${point.kind} ${point.place} (${where})`));
    }
  };
  await Promise.all([first, ...others].map(work));
  const list = unreached.map(({ kind, place }) => `  not reached: ${kind} ${place}\n`).join("");
  const sum = `${faulty.points.length} points, ${unreached.length} not reached; ${tasks.length} failures`;
  process.stdout.write(`${sum}: ${JSON.stringify(counts)}\n${list}`);
  expect(wrong.sort()).toEqual([]);
  expect(unreached.length).toBeLessThan(faulty.points.length * (1 - leastReached));
});
