import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KernelLimits } from "../../testkit/kernel-limits.ts";
import type { Job } from "./job.mjs";

/** Where the service of the benchmark listens. */
export interface Service {
  readonly port: number;
  readonly tlsPort: number;
  readonly authPort: number;
}

/** The processor of a program, optionally with the limits of a container. */
export interface Cpu {
  readonly number: number;
  readonly limits?: KernelLimits | undefined;
}

/** The surroundings of a program. */
export interface Place {
  readonly port: number;
  readonly service: Service;
  readonly cpu: Cpu;
  /** A folder of its own. */
  readonly folder: string;
}

/** A proxy to measure. */
export interface Program {
  readonly name: string;
  /** What is sent, and what the service checks: a signature, a token or a fixed header. */
  readonly job: Job;
  readonly isInstalled: () => boolean;
  readonly start: (at: Place) => Promise<Running>;
}

/** The origin of the service for a job. */
export function targetOf(job: Job, { port, tlsPort }: Service): string {
  return job === "tls" ? `https://localhost:${tlsPort}` : `http://127.0.0.1:${port}`;
}

/** PEM file of the authority that signed the service's certificate. */
export const authorityFile = join(import.meta.dirname, "../../testkit/certificates/authority.pem");

export interface Running {
  /** From spawn to the first connection that it accepts. */
  readonly startMs: number;
  /** CPU time of the process and its children so far. */
  cpuMs(): number;
  /** Resident memory, children included. */
  rssBytes(): number;
  stop(): Promise<void>;
}

export function isThere(command: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;
}

/** The installed programs; prints the names of the missing ones. */
export function installed(programs: readonly Program[], say: (text: string) => void): Program[] {
  const missing = programs.filter((program) => !program.isInstalled());
  const names = missing.map(({ name }) => name).join(", ");
  if (missing.length > 0) say(`Not installed, left out: ${names}. See bench/README.md.`);
  return programs.filter((program) => !missing.includes(program));
}

/** Starts a program on one processor. Resolves when its port accepts connections. */
export async function startProgram(
  command: readonly string[],
  { port, cpu, env = {}, waitMs = 10_000 }: { port: number; cpu: Cpu; env?: NodeJS.ProcessEnv; waitMs?: number },
): Promise<Running> {
  const startedMs = performance.now();
  const pinned = ["-c", String(cpu.number), ...command];
  const [file, args] = cpu.limits?.wrap("taskset", pinned) ?? ["taskset", pinned];
  const child = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  while (!(await takesConnections(port))) {
    if (child.exitCode !== null) throw new Error(`${command[0]} ended with ${child.exitCode}`);
    if (performance.now() - startedMs > waitMs) {
      child.kill("SIGKILL");
      throw new Error(`${command[0]} does not listen on ${port}`);
    }
    await sleep(5);
  }
  const startMs = performance.now() - startedMs;
  const sum = (read: (pid: number) => number) => treeOf(child.pid ?? 0).reduce((all, pid) => all + read(pid), 0);
  return { startMs, cpuMs: () => sum(cpuMsOf), rssBytes: () => sum(rssBytesOf), stop: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const giveUp = setTimeout(() => child.kill("SIGKILL"), 3_000);
  await ended;
  clearTimeout(giveUp);
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

/** A process and its children, such as nginx's workers. */
function treeOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

/** CPU of all its threads, from schedstat, which is exact: the ticks of proc(5) are 10 ms long. */
function cpuMsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
    return sum + Number(nanoseconds) / 1e6;
  }, 0);
}

function rssBytesOf(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return pages * 4_096;
}
