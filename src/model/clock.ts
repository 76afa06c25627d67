/** A clock that differs more from the service's is wrong: signed requests may be refused. As for the alert CountersignClockSkew. */
export const longestSkewSeconds = 30;

/** What to do about a clock that differs from the service's. */
export const fixOfClock = "set it (NTP on the node), or report the service's";

/** Cancels a timer; does nothing once it has fired. */
export type Cancel = () => void;

/** Time as the rest of the program sees it. Only this file reads the machine's clocks, so that a test can own time. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. For timestamps that leave the process; it may jump. */
  wallMs(): number;
  /** Monotonic clock in milliseconds, from an arbitrary start. For lifetimes, deadlines and durations. */
  nowMs(): number;
  /**
   * Runs the task once after the delay. Input that has arrived is read first: after the process stood still, an answer that
   * came in time must not count as late. The timer alone does not keep the process alive.
   */
  after(delayMs: number, task: () => void): Cancel;
}

/** Node fires a timer beyond 2^31-1 ms after 1 ms. */
const longestTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  nowMs: () => performance.now(),
  after(delayMs, task) {
    let turn: NodeJS.Immediate | undefined;
    // Node runs timers before it reads sockets, and immediates after that.
    const runAfterReading = () => {
      turn = setImmediate(task);
    };
    const timer = setTimeout(runAfterReading, Math.min(Math.max(delayMs, 0), longestTimerMs)).unref();
    return () => {
      clearTimeout(timer);
      clearImmediate(turn);
    };
  },
};

/** Lets waiting work run, such as reading input that has arrived. Call it between two parts of long work. */
export function takeTurns(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The wall-clock time of a moment on the monotonic clock, in milliseconds since the Unix epoch. */
export type WallTime = (monotonicMs: number) => number;

/** The two clocks drift apart by less than this, unless the wall clock is set. */
const longestDriftMs = 1_000;

/** The same moment gives the same time at every call, until the wall clock has been set. */
export function createWallTime(clock: Clock): WallTime {
  let offsetMs = Number.NEGATIVE_INFINITY;
  return (monotonicMs) => {
    const nowOffsetMs = clock.wallMs() - clock.nowMs();
    if (Math.abs(nowOffsetMs - offsetMs) > longestDriftMs) offsetMs = nowOffsetMs;
    return Math.round(monotonicMs + offsetMs);
  };
}

/** Resolves after the delay, or as soon as the signal is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = clock.after(delayMs, wake);
    signal?.addEventListener("abort", wake, { once: true });
  });
}

/** The promise's value, or undefined when it takes longer than the delay. The promise itself continues. */
export function within<Value>(clock: Clock, promise: Promise<Value>, delayMs: number): Promise<Value | undefined> {
  if (delayMs <= 0) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const cancel = clock.after(delayMs, () => resolve(undefined));
    promise.then(resolve, reject).finally(cancel);
  });
}

export const durationPattern = /^(\d{1,9})(ms|s|m|h)$/;

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of `500ms`, `20s`, `2m` or `1h`; undefined for any other text. */
export function parseDurationMs(text: string): number | undefined {
  const [, digits, unit = ""] = durationPattern.exec(text) ?? [];
  const factor = msPerUnit[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** A duration as the configuration writes it, in the longest unit that fits: `24h`, `90s`, `1500ms`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  const [unit = "ms", unitMs = 1] = Object.entries(msPerUnit).findLast(([, each]) => ms % each === 0) ?? [];
  return `${ms / unitMs}${unit}`;
}

/** `45 s`, `12 min`, `2 h 40 min`, `23 h`, `340 days`: rounded down, in the largest unit that gives at least 2. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)} days`;
  const minutes = Math.floor(seconds / 60);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours >= 2) return hours < 10 && rest > 0 ? `${hours} h ${rest} min` : `${hours} h`;
  return minutes >= 2 ? `${minutes} min` : `${seconds} s`;
}

/** A failure that lasts is reported this often. */
export const reportAgainMs = 60_000;

/** A failure that repeats is reported once a minute, for each kind of failure. */
export class LogThrottle {
  readonly #clock: Clock;
  readonly #reportedAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether this failure is the first of its kind for a minute; the call itself counts as a report. */
  isFirst(kind: string): boolean {
    const nowMs = this.#clock.nowMs();
    const isFirst = nowMs >= (this.#reportedAtMs.get(kind) ?? Number.NEGATIVE_INFINITY) + reportAgainMs;
    if (isFirst) this.#reportedAtMs.set(kind, nowMs);
    return isFirst;
  }
}

/**
 * A deadline that is often postponed, and seldom reached. Postponing it does not restart its timer: when the timer fires, it
 * checks whether the deadline is still ahead.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #onDeadline: () => void;
  #deadlineMs = Number.POSITIVE_INFINITY;
  /** When the timer fires; infinite if no timer is set. */
  #firesAtMs = Number.POSITIVE_INFINITY;
  #cancel: Cancel = () => {};

  constructor(clock: Clock, onDeadline: () => void) {
    this.#clock = clock;
    this.#onDeadline = onDeadline;
  }

  /** @param deadlineMs on the monotonic clock */
  set(deadlineMs: number): void {
    this.#deadlineMs = deadlineMs;
    if (deadlineMs < this.#firesAtMs) this.#arm();
  }

  /** Removes the deadline; `set` can set another. */
  clear(): void {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Removes the deadline for good, and cancels the timer. */
  close(): void {
    this.clear();
    this.#cancel();
    this.#firesAtMs = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    this.#cancel();
    this.#firesAtMs = this.#deadlineMs;
    this.#cancel = this.#clock.after(this.#deadlineMs - this.#clock.nowMs(), () => this.#fire());
  }

  #fire(): void {
    this.#firesAtMs = Number.POSITIVE_INFINITY;
    if (this.#clock.nowMs() >= this.#deadlineMs) {
      this.clear();
      this.#onDeadline();
    } else if (this.#deadlineMs !== Number.POSITIVE_INFINITY) {
      this.#arm();
    }
  }
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `12 s`, `3 min`, `2 h 5 min`, `4 d 7 h`: short enough to read at a glance. */
export function describeDuration(ms: number): string {
  if (ms < minuteMs) return `${Math.floor(ms / secondMs)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  const [bigMs, big, smallMs, small] =
    ms < dayMs ? ([hourMs, "h", minuteMs, "min"] as const) : ([dayMs, "d", hourMs, "h"] as const);
  const rest = Math.floor((ms % bigMs) / smallMs);
  const whole = `${Math.floor(ms / bigMs)} ${big}`;
  return rest === 0 ? whole : `${whole} ${rest} ${small}`;
}

/** What the log and the status page say of this machine's clock; undefined while it agrees with the service's. */
export function describeSkew(skewSeconds: number, environment: string): string | undefined {
  if (Math.abs(skewSeconds) <= longestSkewSeconds) return undefined;
  const span = describeDuration(Math.round(Math.abs(skewSeconds)) * secondMs);
  const side = skewSeconds > 0 ? "ahead of" : "behind";
  return `this machine's clock is ${span} ${side} the service's of ${environment}: signed orders may be refused; ${fixOfClock}`;
}
