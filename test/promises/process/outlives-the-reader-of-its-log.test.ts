/** Whatever the reader of standard output does, requests and SIGTERM still work, and lost lines are counted. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { call, get } from "../../../testkit/call.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { searchStream } from "../../../testkit/leaks/outflow.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { startProgram } from "../../../testkit/run-program.ts";
import { writeServed } from "../../load/served.ts";

/** How long an idle process may take to stop. */
const stopMs = 2_000;
/** More lines than the backlog holds. */
const orders = 4_000;
const atOnce = 16;

it("serves while its log is not read, says afterwards how many lines are lost, and ends in time", async () => {
  const pipe = openPipe();
  const serve = await startServe(pipe.path);
  // Compiled code and connections take memory too, before the measurement.
  for (let batch = 0; batch < 10; batch++) {
    expect(await serve.order(160)).toEqual([[200, 160]]);
    await pipe.until(({ event }) => event === "request_finished");
  }
  const before = serve.residentBytes();
  expect(await serve.order(orders)).toEqual([[200, orders]]);
  const dropped = await serve.dropped();
  expect(dropped).toBeGreaterThan(0);
  expect(serve.residentBytes() - before).toBeLessThan(64 * 1_048_576);

  const lines = await pipe.until(({ event }) => event === "log_lines_dropped");
  expect(lines.at(-1)).toMatchObject({ level: "warn", event: "log_lines_dropped", dropped: expect.any(Number) });
  const told = lines.findIndex(({ event }) => event === "log_lines_dropped");
  expect(lines[told].dropped).toBeGreaterThanOrEqual(dropped);
  expect(await serve.dropped()).toBe(lines[told].dropped);
  const times = lines.map(({ time }) => time);
  expect(times).toEqual(times.toSorted());

  // The pipe is full again, and is not read until the process ends.
  expect(await serve.order(orders)).toEqual([[200, orders]]);
  await serve.stop();
});

it("loses no line, not even the last, if its log is read", async () => {
  const pipe = openPipe();
  const serve = await startServe(pipe.path);
  expect(await serve.order(320)).toEqual([[200, 320]]);
  const stopped = serve.stop(Number.POSITIVE_INFINITY);
  const lines = await pipe.until(({ event }) => event === "stopped");
  await stopped;
  expect(lines.filter(({ event }) => event === "request_finished")).toHaveLength(320);
  expect(lines.filter(({ event }) => event === "log_lines_dropped")).toEqual([]);
});

it("serves when the reader of its log has gone, and counts what is lost", async () => {
  const pipe = openPipe();
  const serve = await startServe(pipe.path);
  await pipe.until(({ event }) => event === "started");
  pipe.leave();
  expect(await serve.order(160)).toEqual([[200, 160]]);
  await expect.poll(serve.dropped).toBeGreaterThanOrEqual(160);
  await serve.stop();
});

it.skipIf(process.platform !== "linux")("serves when the disk for its log is full", async () => {
  const serve = await startServe("/dev/full");
  expect(await serve.order(160)).toEqual([[200, 160]]);
  await expect.poll(serve.dropped).toBeGreaterThanOrEqual(160);
  await serve.stop();
});

/** The built command with this file as its standard output. */
async function startServe(log: string) {
  const bytes = rawAnswer(200, '{"order_id":"order_1"}');
  const upstream = await startRawUpstream({ answer: bytes });
  const port = await freePort();
  const adminPort = await freePort();
  const file = writeServed(upstream.url, `127.0.0.1:${port}`, "log: { level: trace }", `127.0.0.1:${adminPort}`);
  // As in the image: without a limit Node collects no garbage while the machine has memory.
  const command = [process.execPath, "--max-old-space-size=64", "dist/main.js", "serve", "--config", file];
  const program = startProgram("sh", ["-c", 'exec "$@" >"$0"', log, ...command]);
  const admin = (path: string) => get(`http://127.0.0.1:${adminPort}`, path);
  const live = () => admin("/livez").then(({ status }) => status, String);
  await expect.poll(live, { timeout: 20_000 }).toBe(200);
  return {
    order: async (count: number) => {
      const statuses = new Map<number, number>();
      const lane = async () => {
        for (let n = 0; n < count / atOnce; n++) {
          const { status } = await call(`http://127.0.0.1:${port}`);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
      return [...statuses];
    },
    dropped: async () =>
      Number(/^countersign_log_lines_dropped_total (\d+)$/m.exec((await admin("/metrics")).text)?.[1]),
    residentBytes: () =>
      Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.child.pid}/status`, "utf8"))?.[1]) * 1_024,
    /** Sends SIGTERM; the process must end in time and with nothing on standard error. */
    stop: async (withinMs = stopMs) => {
      const sinceMs = performance.now();
      const how = await program.stop();
      expect({ how, stderr: program.stderr() }).toEqual({ how: 0, stderr: "" });
      expect(performance.now() - sinceMs).toBeLessThan(withinMs);
    },
  };
}

/** A pipe with a reader that reads on demand only. */
function openPipe() {
  const path = join(new ConfigFolder().path, "pipe");
  execFileSync("mkfifo", [path]);
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const searched = searchStream("stdout");
  const buffer = Buffer.alloc(65_536);
  let text = "";
  const read = () => {
    try {
      for (let length = 1; length > 0; ) {
        length = readSync(reading, buffer);
        text += buffer.toString("utf8", 0, length);
        searched.take(buffer.toString("utf8", 0, length));
      }
    } catch {
      // The pipe is empty now.
    }
  };
  return {
    path,
    leave: () => closeSync(reading),
    /** Reads until a whole line satisfies the condition, and returns all lines so far. */
    async until(isMeant: (line: Record<string, unknown>) => boolean) {
      for (;;) {
        read();
        const written = text.split("\n").slice(0, -1);
        const lines = written.map((line) => JSON.parse(line));
        if (lines.some(isMeant)) return lines;
        await wait(20);
      }
    },
  };
}
