import { type Cancel, type Clock, LogThrottle, reportAgainMs } from "../../model/clock.ts";
import { closedCode } from "../../model/connect-failure.ts";
import type { Report } from "../../model/events.ts";
import { isAnswer, type RedisFailureKind, type RedisSnapshot } from "../../model/redis-access.ts";
import type { RedisClient } from "./client.ts";
import { failureOf, isFatal, RedisFailure } from "./failure.ts";
import { besideKey, redisKey } from "./scripts.ts";

export interface ConnectionParts {
  /** Makes a client that has not connected yet; `turn` counts from 0. */
  readonly open: (turn: number) => RedisClient;
  /** A script that does what the scripts in use do, on a key that it deletes. */
  readonly trial: string;
  /** A further step of tasks, which the trial takes too. */
  readonly confirm?: ((client: RedisClient) => Promise<void>) | undefined;
  /** The longest that one task may take. */
  readonly taskTimeoutMs?: number | undefined;
  /** As in RedisEvent. */
  readonly node: string;
  readonly address: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly report: Report;
}

export type Task<Value> = (client: RedisClient, untilMs: number) => Promise<Value>;

/** The default of `taskTimeoutMs`. */
const shortTaskMs = 100;
/** The longest that the first task waits for the connection. */
const firstConnectMs = 1_000;
/** The longest that any later attempt to connect may take, which has steps of 500 ms. */
const connectTimeoutMs = 3_000;
/** While Redis is down, the next trial begins after this time at the latest. */
const retryEveryMs = 1_000;
/** A connection that is closed sooner did not last. */
const lastingMs = 1_000;
/** So many in a row are replaced at once; after the next one Redis is down. */
const mostQuickCloses = 10;
/** The shortest time until another cause of the same outage is reported. */
const otherCauseMs = 5_000;

/**
 * The connection to one Redis, replaced when it does not work: by another server, if its name or a Sentinel leads there now. Redis
 * is up while the trial script works. A task is answered in time or fails with a RedisFailure; after a fatal failure every
 * task fails without being sent, until a trial in the background has worked. A connection that Redis closes is no outage: it
 * is replaced at once, and tasks wait for that within their time.
 */
export class RedisConnection {
  readonly #parts: ConnectionParts;
  readonly #taskTimeoutMs: number;
  readonly #throttle: LogThrottle;
  /** The client in use. Undefined while there is no connection. */
  #client: RedisClient | undefined;
  /** The client that is connecting. */
  #next: RedisClient | undefined;
  #turns = 0;
  #connectedAtMs = 0;
  #quickCloses = 0;
  /** The present or last trial; never rejects. */
  #trial: Promise<void>;
  #isTrying = false;
  #triedAtMs = 0;
  #cancelRetry: Cancel = () => {};
  /** When Redis went up or down last. */
  #sinceMs: number | undefined;
  /** Why Redis is down. */
  #failure: RedisFailure | undefined;
  /** The cause that was reported last, and when. */
  #reported = { cause: "", atMs: 0 };
  /** A key beside that of the last task that failed: in a Cluster only its node may be in trouble. */
  #trialKey = redisKey("probe", "trial");
  #isEnded = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.#taskTimeoutMs = parts.taskTimeoutMs ?? shortTaskMs;
    this.#throttle = new LogThrottle(parts.clock);
    this.#trial = this.#try();
  }

  snapshot(): RedisSnapshot {
    const isUp = this.#sinceMs === undefined ? undefined : this.#failure === undefined;
    const { node, address } = this.#parts;
    return { node, address, isUp, sinceMs: this.#sinceMs, failure: this.#failure?.kind, cause: this.#failure?.code };
  }

  /**
   * @param task is repeated once if its connection closes before it is answered: Redis may have closed it before the task came;
   * its answer counts until `untilMs`, on the monotonic clock
   * @throws RedisFailure, and nothing else
   */
  async run<Value>(key: string, task: Task<Value>): Promise<Value> {
    if (this.#sinceMs === undefined) await this.#trial;
    return this.#runUntil(this.#parts.clock.nowMs() + this.#taskTimeoutMs, key, task);
  }

  async #runUntil<Value>(untilMs: number, key: string, task: Task<Value>, isRepeated = false): Promise<Value> {
    const { clock } = this.#parts;
    let client = this.#client;
    try {
      if (client === undefined && this.#failure === undefined) {
        await this.#within(this.#trial, untilMs - clock.nowMs());
        client = this.#client;
      }
      const isShut = this.#failure !== undefined && isFatal(this.#failure.kind);
      if (client !== undefined && !isShut) return await this.#within(task(client, untilMs), untilMs - clock.nowMs());
    } catch (error) {
      const failure = failureOf(error);
      const { kind } = failure;
      if (kind === "connection" && this.#failure === undefined) {
        this.#trialKey = besideKey(key, "trial");
        if (client !== undefined && client === this.#client) this.#onClosed(client);
        if (!isRepeated) return this.#runUntil(untilMs, key, task, true);
      }
      this.count(kind);
      // Failures of a connection that is no longer in use say nothing of the present one.
      if (client === this.#client) this.#onFailure(failure, key);
      throw failure;
    }
    this.#countQuietly("connection");
    throw new RedisFailure("connection");
  }

  close(): void {
    this.#isEnded = true;
    this.#cancelRetry();
    this.#next?.disconnect();
    this.#client?.disconnect();
  }

  /** Counts a failure, even one inside a reply. */
  count(kind: RedisFailureKind): void {
    const { node, report } = this.#parts;
    report({ kind: "redis_failed", node, failure: kind, isFirst: this.#throttle.isFirst(kind) });
  }

  /**
   * After a fatal failure no task is sent until a trial has worked; after any other, a trial shows whether this key alone failed. It is
   * made at once, unless there was one within the last second: Redis may have stood still for a moment only.
   */
  #onFailure(failure: RedisFailure, key: string): void {
    this.#trialKey = besideKey(key, "trial");
    if (isFatal(failure.kind)) this.#goDown(failure);
    this.#tryAfter(this.#triedAtMs + retryEveryMs - this.#parts.clock.nowMs());
  }

  #tryAfter(delayMs: number): void {
    this.#cancelRetry();
    if (delayMs <= 0) this.#beginTrial();
    else this.#cancelRetry = this.#parts.clock.after(delayMs, () => this.#beginTrial());
  }

  #beginTrial(): void {
    if (!this.#isTrying && !this.#isEnded) this.#trial = this.#try();
  }

  /** Connects if need be; if the trial fails, also anew, since another server may have taken over. */
  async #try(): Promise<void> {
    this.#isTrying = true;
    try {
      const client = this.#client;
      await (client === undefined ? this.#replace() : this.#runTrial(client).catch(() => this.#replace()));
      this.#goUp();
    } catch (error) {
      this.#goDown(failureOf(error));
    } finally {
      this.#isTrying = false;
    }
  }

  /** Connects anew, with a new look-up. Until then a connection that answers remains in use. */
  async #replace(): Promise<void> {
    const client = this.#parts.open(this.#turns++);
    this.#next = client;
    await this.#connect(client);
    // That was for the greeting. Each task has a limit of its own, and a second timer for it costs as much as the first.
    Object.assign(client.options, { commandTimeout: undefined });
    this.#retire(this.#client);
    if (this.#isEnded) return;
    this.#client = client;
    this.#connectedAtMs = this.#parts.clock.nowMs();
    await this.#runTrial(client);
  }

  async #connect(client: RedisClient): Promise<void> {
    /** Why it could not connect; neither its end nor its promise say so. */
    let cause = new RedisFailure("connection");
    client.on("error", (error) => {
      cause = causeOf(error);
      this.#countAnswer(cause.kind);
    });
    const ended = new Promise<never>((_, reject) => {
      client.on("end", () => {
        // Ends its Sentinels' connections too.
        client.disconnect();
        reject(cause);
        if (client === this.#client) this.#onClosed(client);
      });
    });
    ended.catch(() => {});
    const connected = client.connect().catch((error) => {
      throw cause.kind === "connection" && cause.code === undefined ? causeOf(error) : cause;
    });
    try {
      const limitMs = this.#sinceMs === undefined ? firstConnectMs : connectTimeoutMs;
      await this.#within(Promise.race([connected, ended]), limitMs);
    } catch (error) {
      client.disconnect();
      throw error;
    }
  }

  /** Tasks that it was given may still end. */
  #retire(client: RedisClient | undefined): void {
    if (client !== undefined) this.#parts.clock.after(this.#taskTimeoutMs, () => client.disconnect());
  }

  /** A task may find a closed connection before its end is told; in a Cluster that of one node. */
  #onClosed(client: RedisClient): void {
    this.#client = undefined;
    client.disconnect();
    if (this.#isEnded) return;
    const isLasting = this.#parts.clock.nowMs() >= this.#connectedAtMs + lastingMs;
    this.#quickCloses = isLasting ? 0 : this.#quickCloses + 1;
    const isDown = this.#failure !== undefined || this.#quickCloses > mostQuickCloses;
    if (isDown) this.#goDown(new RedisFailure("connection", closedCode));
    else this.#beginTrial();
  }

  async #runTrial(client: RedisClient): Promise<void> {
    const { clock, trial, confirm } = this.#parts;
    this.#triedAtMs = clock.nowMs();
    const limitMs = this.#sinceMs === undefined ? firstConnectMs : this.#taskTimeoutMs;
    const tried = client.eval(trial, 1, this.#trialKey).then(() => confirm?.(client));
    await this.#within(tried, limitMs).catch((error) => {
      const failure = failureOf(error);
      this.#countAnswer(failure.kind);
      throw failure;
    });
  }

  /** A refused login, or trial, is a failed command; `redis_down` alone tells other failures of either. */
  #countAnswer(kind: RedisFailureKind): void {
    if (isAnswer(kind)) this.#countQuietly(kind);
  }

  /** Counts a failed command of an outage, which `redis_down` reports. */
  #countQuietly(failure: RedisFailureKind): void {
    const { node, report } = this.#parts;
    report({ kind: "redis_failed", node, failure, isFirst: false });
  }

  #goUp(): void {
    if (this.#isEnded || (this.#sinceMs !== undefined && this.#failure === undefined)) return;
    const { clock, node, report } = this.#parts;
    this.#cancelRetry();
    const nowMs = clock.nowMs();
    const awayMs = this.#sinceMs === undefined ? undefined : nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    this.#failure = undefined;
    report({ kind: "redis_up", node, awayMs });
  }

  #goDown(failure: RedisFailure): void {
    if (this.#isEnded) return;
    const { clock, node, address, random, report } = this.#parts;
    const nowMs = clock.nowMs();
    const downSinceMs = this.#failure === undefined ? undefined : this.#sinceMs;
    const cause = `${failure.kind} ${failure.code}`;
    const pauseMs = cause === this.#reported.cause ? reportAgainMs : otherCauseMs;
    this.#failure = failure;
    this.#sinceMs = downSinceMs ?? nowMs;
    this.#tryAfter(retryEveryMs * (0.75 + 0.25 * random()));
    if (downSinceMs !== undefined && nowMs < this.#reported.atMs + pauseMs) return;
    this.#reported = { cause, atMs: nowMs };
    const awayMs = downSinceMs === undefined ? undefined : nowMs - downSinceMs;
    report({ kind: "redis_down", node, address, failure: failure.kind, cause: failure.code, awayMs });
  }

  #within<Value>(promise: Promise<Value>, delayMs: number): Promise<Value> {
    return new Promise((resolve, reject) => {
      const cancel = this.#parts.clock.after(delayMs, () => reject(new RedisFailure("timeout")));
      promise.then(
        (value) => {
          cancel();
          resolve(value);
        },
        (error) => {
          cancel();
          reject(error);
        },
      );
    });
  }
}

/** An unknown failure while connecting counts as a failed connection. */
function causeOf(error: unknown): RedisFailure {
  const failure = failureOf(error);
  return failure.kind === "other" ? new RedisFailure("connection", failure.code) : failure;
}
