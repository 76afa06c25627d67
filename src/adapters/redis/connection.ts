import { type Cancel, type Clock, LogThrottle } from "../../model/clock.ts";
import type { Report } from "../../model/events.ts";
import type { RedisFailureKind, RedisSnapshot } from "../../model/redis-access.ts";
import type { RedisClient } from "./client.ts";
import { isAnswer, isFatal, kindOf, RedisFailure } from "./failure.ts";
import { redisKey } from "./scripts.ts";

export interface ConnectionParts {
  readonly client: RedisClient;
  /** As in RedisEvent. */
  readonly node: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly report: Report;
}

/** The longest that one task may take (row 26 in docs/security.md). */
const taskTimeoutMs = 100;
/** The longest that the first task waits for the connection. */
const firstConnectMs = 1_000;
const probeEveryMs = 1_000;
/** A connection that leaves so many probes in a row unanswered is replaced: the network may have lost it silently. */
const lostAfterProbes = 3;
/** A read-only server was a master once: a new connection may find the new master. */
const reconnectEveryMs = 30_000;

/**
 * A connection with a circuit breaker. A task is answered in time or fails with a RedisFailure. A fatal failure opens the
 * breaker: every task fails without being sent, until a probe in the background is answered.
 */
export class RedisConnection {
  readonly #parts: ConnectionParts;
  readonly #first: Promise<void>;
  readonly #throttle: LogThrottle;
  #state: "connecting" | "closed" | "open" | "ended" = "connecting";
  /** Why the client could not connect; its `close` event does not say. */
  #cause: RedisFailureKind = "connection";
  /** When the breaker opened or closed last. */
  #sinceMs: number | undefined;
  /** Why the breaker is open. */
  #failure: RedisFailureKind | undefined;
  /** The key of the last task that failed. */
  #probedKey = redisKey("probe", "probe");
  #lostProbes = 0;
  #reconnectedAtMs = Number.NEGATIVE_INFINITY;
  #cancelProbe: Cancel = () => {};

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.#throttle = new LogThrottle(parts.clock);
    const { client, node, report } = parts;
    client.on("ready", () => this.#onReady());
    client.on("error", (error) => {
      this.#cause = causeOf(error);
      // A refused login is a failed command. Other failures of the login are in `redis_down` alone.
      if (isAnswer(this.#cause)) report({ kind: "redis_failed", node, failure: this.#cause, isFirst: false });
    });
    client.on("close", () => this.#openBreaker(this.#cause));
    this.#first = this.#within(client.connect(), firstConnectMs).then(
      () => this.#closeBreaker(),
      (error) => this.#openBreaker(causeOf(error)),
    );
  }

  snapshot(): RedisSnapshot {
    const isUp = this.#sinceMs === undefined ? undefined : this.#state === "closed";
    return { node: this.#parts.node, isUp, sinceMs: this.#sinceMs, failure: this.#failure };
  }

  /**
   * Runs commands on a key. After a failure, probes read that key, since in a Cluster only its node may be unreachable.
   * @throws RedisFailure, and nothing else
   */
  async run<Value>(key: string, task: (client: RedisClient) => Promise<Value>): Promise<Value> {
    if (this.#state === "connecting") await this.#first;
    if (this.#state !== "closed") throw new RedisFailure("connection");
    try {
      return await this.#within(task(this.#parts.client), taskTimeoutMs);
    } catch (error) {
      this.#probedKey = key;
      throw this.#onFailure(kindOf(error));
    }
  }

  close(): void {
    this.#state = "ended";
    this.#cancelProbe();
    this.#parts.client.disconnect();
  }

  /** Counts a failure, even one inside a reply. */
  count(kind: RedisFailureKind): void {
    const { node, report } = this.#parts;
    report({ kind: "redis_failed", node, failure: kind, isFirst: this.#throttle.isFirst(kind) });
  }

  #onFailure(kind: RedisFailureKind): RedisFailure {
    this.count(kind);
    if (isFatal(kind)) this.#openBreaker(kind);
    if (kind === "readonly") this.#lookForMaster();
    return new RedisFailure(kind);
  }

  #lookForMaster(): void {
    const now = this.#parts.clock.nowMs();
    if (now < this.#reconnectedAtMs + reconnectEveryMs) return;
    this.#reconnectedAtMs = now;
    this.#openBreaker("readonly");
    this.#parts.client.disconnect(true);
  }

  /** A new connection does not prove that commands are answered in time again. */
  #onReady(): void {
    if (this.#state === "open") void this.#probe();
    else this.#closeBreaker();
  }

  #closeBreaker(): void {
    if (this.#state === "closed" || this.#state === "ended") return;
    const { clock, node, report } = this.#parts;
    const openSinceMs = this.#state === "open" ? this.#sinceMs : undefined;
    const nowMs = clock.nowMs();
    this.#state = "closed";
    this.#sinceMs = nowMs;
    this.#failure = undefined;
    this.#cause = "connection";
    this.#lostProbes = 0;
    this.#cancelProbe();
    report({ kind: "redis_up", node, awayMs: openSinceMs === undefined ? undefined : nowMs - openSinceMs });
  }

  #openBreaker(failure: RedisFailureKind): void {
    if (this.#state === "open" || this.#state === "ended") return;
    const { clock, node, report } = this.#parts;
    this.#state = "open";
    this.#sinceMs = clock.nowMs();
    this.#failure = failure;
    report({ kind: "redis_down", node, failure });
    this.#probeLater();
  }

  #probeLater(): void {
    const { clock, random } = this.#parts;
    this.#cancelProbe();
    this.#cancelProbe = clock.after(probeEveryMs * (0.75 + 0.5 * random()), () => void this.#probe());
  }

  /** Sends nothing while the client reconnects by itself: its `ready` starts the next probe. */
  async #probe(): Promise<void> {
    const { client } = this.#parts;
    // If a Sentinel reports a failover while the client looks for the master, the client gives up for good.
    if (client.status === "end") client.connect().catch(() => {});
    if (client.status === "ready") {
      const isAnswered = await this.#within(client.get(this.#probedKey), taskTimeoutMs).then(
        () => true,
        (error) => !isFatal(kindOf(error)),
      );
      if (isAnswered) return this.#closeBreaker();
      this.#lostProbes += 1;
      if (this.#lostProbes % lostAfterProbes === 0) client.disconnect(true);
    }
    if (this.#state === "open") this.#probeLater();
  }

  #within<Value>(promise: Promise<Value>, delayMs: number): Promise<Value> {
    return new Promise((resolve, reject) => {
      const cancel = this.#parts.clock.after(delayMs, () => reject(new RedisFailure("timeout")));
      promise.then(resolve, reject).finally(cancel);
    });
  }
}

/** An unknown failure while connecting counts as a failed connection. */
function causeOf(error: unknown): RedisFailureKind {
  const kind = kindOf(error);
  return kind === "other" ? "connection" : kind;
}
