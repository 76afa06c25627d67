import { closeSync, openSync, readSync } from "node:fs";
import { constants } from "node:os";

type StopSignal = "SIGTERM" | "SIGINT";
const stopSignals = ["SIGTERM", "SIGINT"] as const;

/**
 * The signals to a process that serves, from its first statement on. Until somebody listens, a signal to stop ends the process at
 * once, since nothing is open yet, and a SIGHUP is remembered.
 */
export class Signals {
  #onStop: (signal: StopSignal) => void = end;
  #isHungUp = false;
  #onHangUp = () => {
    this.#isHungUp = true;
  };

  constructor() {
    process.on("SIGHUP", () => this.#onHangUp());
    listen((signal) => this.#onStop(signal));
  }

  /** Calls `listener` at each signal to stop, instead of ending the process. */
  onStop(listener: (signal: StopSignal) => void): void {
    this.#onStop = listener;
  }

  /** Calls `listener` at each SIGHUP; at once if one has already come. */
  onHangUp(listener: () => void): void {
    this.#onHangUp = listener;
    if (this.#isHungUp) listener();
  }
}

/**
 * The kernel drops a signal to PID 1, such as a container's only process, if it has no handler. Kubernetes, stopping a pod that
 * is still starting, would wait for the whole grace period. This handler ends the process, unless a command has added its own.
 */
export function exitOnSignalsAsPidOne(): void {
  if (process.pid !== 1) return;
  listen((signal) => {
    if (process.listenerCount(signal) === 1) end(signal);
  });
}

/** Ends PID 1 if a signal came before. One that comes between the look and the first listener is lost: both take microseconds. */
function listen(onStop: (signal: StopSignal) => void): void {
  const file = process.pid === 1 ? openStatus() : undefined;
  const status = Buffer.alloc(4_096);
  // The first call takes ten times as long as the second, which is the last step before the listeners.
  for (let read = 0; file !== undefined && read < 2; read++) readSync(file, status, 0, status.length, 0);
  for (const signal of stopSignals) process.on(signal, () => onStop(signal));
  if (file === undefined) return;
  closeSync(file);
  const missed = missedSignal(status.toString("latin1"));
  if (missed !== undefined) end(missed);
}

/** Ends the process as the signal would by default. By default it would not end PID 1. */
function end(signal: StopSignal): void {
  if (process.pid === 1) process.exit(128 + constants.signals[signal]);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * A signal that came while Node.js itself was starting, which takes longer than all the rest. Node.js then has a handler that
 * removes itself and sends the signal again, which PID 1 ignores. That the handler is gone is the only trace.
 * @param status of this process, as Linux shows it
 */
function missedSignal(status: string): StopSignal | undefined {
  const [, caught] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  if (caught === undefined) return undefined;
  const mask = BigInt(`0x${caught}`);
  return stopSignals.find((signal) => ((mask >> BigInt(constants.signals[signal] - 1)) & 1n) === 0n);
}

/** Undefined where there is none. */
function openStatus(): number | undefined {
  try {
    return openSync("/proc/self/status", "r");
  } catch {
    return undefined;
  }
}
