import type { Clock } from "../model/clock.ts";
import type { AuthMethod } from "../model/environment.ts";
import type { Outcome } from "../model/errors.ts";
import type { Details } from "./details.ts";
import type { RequestMemory } from "./request-memory.ts";

/** Where a request is on its way: the names that logs and `/status` show. */
export type Stage =
  | "read_head"
  | "check_caller"
  | "admit"
  | "check_head"
  | "read_body"
  | "read_parameters"
  | "choose_site"
  | "enrich"
  | "await_token"
  | "send"
  | "stream_answer";

/** What is known of one request so far. The steps of the journey fill it in; its end is reported from it. */
export class RequestContext {
  readonly requestId: string;
  readonly startedMs: number;
  readonly #clock: Clock;
  stage: Stage = "read_head";
  admitted = false;
  /** One of `limits.inFlightPerEnvironment`, since its body is there. */
  hasPermit = false;
  /** Its share of `limits.bufferedBytes`, from its concurrency on. */
  memory: RequestMemory | undefined;
  traceId: string | undefined;
  reference: string | undefined;
  operation: string | undefined;
  site: string | undefined;
  auth: AuthMethod | undefined;
  /** On the monotonic clock. */
  deadlineMs: number;
  /** How many times it was handed to the service's connection for an answer. */
  attempts = 0;
  /** Over all attempts together, as far as known by now. */
  outcome: Outcome = "not_sent";
  /** The service's share: from connecting to the last piece of the answer, without the caller's reading. */
  upstreamMs: number | undefined;
  /** The configured name of the caller's token, where the listener asks for one. */
  callerName: string | undefined;
  /** What only the log says. */
  readonly details: Details = {};
  /** Waiting for anyone else: the caller, the authorization server, the service. */
  #waitedMs = 0;

  constructor(requestId: string, clock: Clock, timeoutMs: number) {
    this.requestId = requestId;
    this.#clock = clock;
    this.startedMs = clock.nowMs();
    this.deadlineMs = this.startedMs + timeoutMs;
  }

  /** The caller gives it less time than `timeouts.request`. */
  limitDeadline(timeoutMs: number | undefined): void {
    if (timeoutMs !== undefined) this.deadlineMs = this.startedMs + timeoutMs;
  }

  /** Who it is for is known. */
  setRoute({ site, auth }: { site: { identifier: string }; auth: AuthMethod }): void {
    this.site = site.identifier;
    this.auth = auth;
  }

  /** Moves on to the next step. */
  setStage(stage: Stage): void {
    this.stage = stage;
  }

  /** Enters a stage that waits for somebody else, whose time is not the proxy's own. */
  async wait<Value>(stage: Stage, promise: () => Promise<Value>): Promise<Value> {
    this.stage = stage;
    const startedMs = this.#clock.nowMs();
    try {
      return await promise();
    } finally {
      const tookMs = this.#clock.nowMs() - startedMs;
      this.#waitedMs += tookMs;
      if (stage === "send") this.#addUpstream(tookMs);
      if (stage === "await_token") this.details.tokenWaitMs = (this.details.tokenWaitMs ?? 0) + tookMs;
    }
  }

  /** The service's answer piece by piece: the time until each is there is the service's, the time after that is not. */
  async *timed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    this.details.responseBytes ??= 0;
    const pieces = body[Symbol.asyncIterator]();
    try {
      for (let step = await this.#timedNext(pieces); step.done !== true; step = await this.#timedNext(pieces)) {
        this.details.responseBytes = (this.details.responseBytes ?? 0) + step.value.length;
        yield step.value;
      }
    } finally {
      await pieces.return?.();
    }
  }

  async #timedNext(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    const startedMs = this.#clock.nowMs();
    try {
      return await pieces.next();
    } finally {
      this.#addUpstream(this.#clock.nowMs() - startedMs);
    }
  }

  #addUpstream(tookMs: number): void {
    this.upstreamMs = (this.upstreamMs ?? 0) + tookMs;
  }

  /** Begins to measure how long a connection takes to be ready. What it returns ends that; only its first call counts. */
  connecting(): () => void {
    const startedMs = this.#clock.nowMs();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.details.connectMs = (this.details.connectMs ?? 0) + this.#clock.nowMs() - startedMs;
    };
  }

  durationMs(): number {
    return this.#clock.nowMs() - this.startedMs;
  }

  overheadMs(): number {
    return Math.max(0, this.durationMs() - this.#waitedMs);
  }
}
