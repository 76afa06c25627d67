import { type Cancel, type Clock, systemClock } from "../src/model/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly task: () => void;
  cancel: Cancel;
}

/**
 * The machine's clocks plus an offset that the test increases: sockets use real time, while lifetimes, pauses
 * and deadlines pass when the test says so.
 */
export class ShiftedClock implements Clock {
  #offsetMs = 0;
  #wallOffsetMs = 0;
  readonly #timers = new Set<Timer>();
  readonly #machineMs: () => number;

  /** @param machineMs the machine's monotonic clock; a constant function gives a clock that stands still */
  constructor(machineMs = () => systemClock.nowMs()) {
    this.#machineMs = machineMs;
  }

  nowMs(): number {
    return this.#machineMs() + this.#offsetMs;
  }

  wallMs(): number {
    return systemClock.wallMs() + this.#offsetMs + this.#wallOffsetMs;
  }

  after(delayMs: number, task: () => void): Cancel {
    const timer: Timer = { atMs: this.nowMs() + Math.max(0, delayMs), task, cancel: () => {} };
    this.#timers.add(timer);
    this.#arm(timer);
    return () => this.#disarm(timer);
  }

  /** Moves both clocks forward. Timers that are due by then fire soon, in order, as after the suspension of a process. */
  push(byMs: number): void {
    this.#offsetMs += byMs;
    for (const timer of [...this.#timers].sort((a, b) => a.atMs - b.atMs)) this.#arm(timer);
  }

  /** A step of the wall clock alone: a person sets it, or NTP does. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  #arm(timer: Timer): void {
    timer.cancel();
    timer.cancel = systemClock.after(timer.atMs - this.nowMs(), () => this.#fire(timer));
  }

  #fire(timer: Timer): void {
    this.#disarm(timer);
    timer.task();
  }

  #disarm(timer: Timer): void {
    timer.cancel();
    this.#timers.delete(timer);
  }
}
