import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { KernelLimits } from "../../testkit/kernel-limits.ts";
import { type Job, jobs } from "./job.mjs";
import type { Options } from "./options.ts";
import type { Place, Program, Running, Service } from "./program.ts";

const run = promisify(execFile);
const proxyCpu = { number: 0 };
const loadCpu = 1;
/** More callbacks than any program takes. */
const mostCallbacksPerSecond = 25_000;
/** The time in which a program's compiler warms up. */
const coldSeconds = 10;
/** By then the work left over from the start is done. */
const settleSeconds = 3;
const idleSeconds = 10;

/** One program in one round. CPU is the program's own, in microseconds a request. */
export interface Measured {
  readonly startMs: number;
  /** Of the first ten seconds under full load. */
  readonly coldCpuUs: number;
  /** After these ten seconds. */
  readonly cpuUs: number;
  /** Requests per second under full load. */
  readonly rate: number;
  /** At 1,000 requests a second, or 50 of 1 MiB, sent whether or not earlier ones were answered. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Under full load. */
  readonly rssMiB: number;
  /** Before the first request. */
  readonly idleRssMiB: number;
  /** Of one processor, without a request. */
  readonly idleCpuPercent: number;
}

/** A program answered wrongly, or an order reached the service unsigned. */
export class WrongAnswer extends Error {}

/** Runs the service for as long as the work takes. */
export async function withService<Value>(work: (service: Service) => Promise<Value>): Promise<Value> {
  const file = join(import.meta.dirname, "service.mjs");
  const child: ChildProcess = spawn("taskset", ["-c", String(loadCpu), process.execPath, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    if (child.stdout === null) throw new Error("the service has no output");
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    return await work(JSON.parse(line) as Service);
  } finally {
    child.kill("SIGKILL");
  }
}

/** Starts the program in a folder of its own, and ends it when the work is done. */
async function withProgram<Value>(
  program: Program,
  place: Omit<Place, "folder">,
  work: (running: Running) => Promise<Value>,
): Promise<Value> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const running = await program.start({ ...place, folder });
  try {
    return await work(running);
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Measures a program cold, warm and at a steady rate. */
export async function measure(
  program: Program,
  service: Service,
  port: number,
  { seconds, connections }: Options,
): Promise<Measured> {
  const before = await countsOf(service);
  return withProgram(program, { port, service, cpu: proxyCpu }, async (running) => {
    const idle = await measureIdle(running);
    const cold = await load(program, running, port, connections, coldSeconds);
    const { cpuUs, rate } = await load(program, running, port, connections, seconds);
    const rssMiB = running.rssBytes() / 2 ** 20;
    const { p50Ms, p99Ms } = await openLoop(port, program, jobs[program.job].rate, seconds);
    const wrong = (await countsOf(service)).wrong - before.wrong;
    if (wrong > 0) throw new WrongAnswer(`${program.name}: ${wrong} wrong requests`);
    return { startMs: running.startMs, coldCpuUs: cold.cpuUs, cpuUs, rate, p50Ms, p99Ms, rssMiB, ...idle };
  });
}

async function measureIdle(running: Running) {
  await sleep(settleSeconds * 1_000);
  const cpuMs = running.cpuMs();
  await sleep(idleSeconds * 1_000);
  const idleCpuPercent = (running.cpuMs() - cpuMs) / (idleSeconds * 10);
  return { idleRssMiB: running.rssBytes() / 2 ** 20, idleCpuPercent };
}

/** One program in one round, as a sidecar is used: it idles, and serves few requests a second. */
export interface Steady {
  readonly startMs: number;
  /** CPU of all threads during the start. */
  readonly startCpuMs: number;
  /** Resident memory after 15 s without a request, and after `--idle` seconds. */
  readonly soonMiB: number;
  readonly idleMiB: number;
  /** CPU for each request in microseconds, and latency in milliseconds, at each rate in an open loop. */
  readonly at: readonly AtRate[];
  /** The same at 200 requests a second, after ten seconds of full load; absent if the program serves no requests. */
  readonly warm: AtRate | undefined;
}

interface AtRate {
  readonly cpuUs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const warmRate = 200;

const soonSeconds = 15;

/** @param rates requests a second, one after the other; empty for a program that serves no requests */
export async function measureSteady(
  program: Program,
  service: Service,
  port: number,
  {
    limits,
    rates,
    seconds,
    idle,
    connections,
  }: Pick<Options, "seconds" | "idle" | "connections"> & { limits: KernelLimits; rates: readonly number[] },
): Promise<Steady> {
  return withProgram(program, { port, service, cpu: { ...proxyCpu, limits } }, async (running) => {
    const startCpuMs = running.cpuMs();
    await sleep(soonSeconds * 1_000);
    const soonMiB = running.rssBytes() / 2 ** 20;
    await sleep((idle - soonSeconds) * 1_000);
    const idleMiB = running.rssBytes() / 2 ** 20;
    const at: AtRate[] = [];
    const measureAt = async (rate: number) => {
      // The set-up that a first request makes is not measured.
      await openLoop(port, program, rate, 1);
      const cpuMs = running.cpuMs();
      const { p50Ms, p99Ms } = await openLoop(port, program, rate, seconds);
      return { cpuUs: ((running.cpuMs() - cpuMs) * 1_000) / (rate * seconds), p50Ms, p99Ms };
    };
    for (const rate of rates) at.push(await measureAt(rate));
    let warm: AtRate | undefined;
    if (rates.length > 0) {
      await load(program, running, port, connections, coldSeconds);
      warm = await measureAt(warmRate);
    }
    return { startMs: running.startMs, startCpuMs, soonMiB, idleMiB, at, warm };
  });
}

/** CPU of the program for each request, in microseconds, once its compiler is warm. */
export async function measureCpu(
  program: Program,
  service: Service,
  port: number,
  warmSeconds: number,
  seconds: number,
) {
  return withProgram(program, { port, service, cpu: proxyCpu }, async (running) => {
    await load(program, running, port, 32, warmSeconds);
    return (await load(program, running, port, 32, seconds)).cpuUs;
  });
}

async function load(program: Program, running: Running, port: number, connections: number, seconds: number) {
  const cpuMs = running.cpuMs();
  const { requests, durationMs, failed } = await wrk(port, program.job, connections, seconds);
  if (failed > 0) throw new WrongAnswer(`${program.name}: ${failed} of ${requests} requests failed`);
  return { cpuUs: ((running.cpuMs() - cpuMs) * 1_000) / requests, rate: (requests * 1_000) / durationMs };
}

async function wrk(port: number, job: Job, connections: number, seconds: number) {
  const { method, body, isKeyed } = jobs[job];
  const script = join(import.meta.dirname, "load.lua");
  const command = [
    "-t1",
    `-c${connections}`,
    `-d${seconds}s`,
    "-s",
    script,
    `http://127.0.0.1:${port}${jobs[job].path}`,
  ];
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const bodies = join(folder, "bodies");
  if (typeof body === "function") {
    writeFileSync(bodies, Array.from({ length: seconds * mostCallbacksPerSecond }, body).join("\n"));
  }
  const env = {
    ...process.env,
    BENCH_JOB: job,
    BENCH_METHOD: method,
    ...(typeof body === "string" ? { BENCH_BODY: body } : {}),
    ...(typeof body === "function" ? { BENCH_BODIES: bodies } : {}),
    ...(isKeyed ? { BENCH_KEYS: `${randomUUID()}-` } : {}),
  };
  const { stdout } = await run("taskset", ["-c", `${loadCpu}`, "wrk", ...command], { env });
  rmSync(folder, { recursive: true });
  const [, result = ""] = /RESULT (.*)/.exec(stdout) ?? [];
  return JSON.parse(result) as { requests: number; durationMs: number; failed: number };
}

async function openLoop(port: number, { name, job }: Program, rate: number, seconds: number) {
  const file = join(import.meta.dirname, "open-loop.mjs");
  const command = ["-c", `${loadCpu}`, process.execPath, file, `${port}`, `${rate}`, `${seconds}`, job];
  const { stdout } = await run("taskset", command);
  const { failed, ...latency } = JSON.parse(stdout) as { p50Ms: number; p99Ms: number; failed: number };
  if (failed > 0) throw new WrongAnswer(`${name}: ${failed} requests failed at ${rate} a second`);
  return latency;
}

async function countsOf({ authPort }: Service): Promise<{ wrong: number }> {
  return (await fetch(`http://127.0.0.1:${authPort}/counts`)).json() as Promise<{ wrong: number }>;
}
