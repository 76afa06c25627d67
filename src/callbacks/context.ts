import type { CallbackFinished } from "../model/callback-events.ts";
import type { Clock } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import type { Admission } from "../proxy/concurrency-limit.ts";
import type { ClientConnection } from "../proxy/messages.ts";
import { peekRequestId, peekTraceId } from "../proxy/request-options.ts";
import { parseTarget, targetInLog } from "../proxy/target.ts";
import type { Delivery } from "./replay-guard.ts";

/** The listener where a callback came in. */
interface ReceivingListener {
  readonly environment: Environment;
  /** As configured. */
  readonly listener: string;
  /** `timeouts.request`. */
  readonly requestMs: number;
}

/** One callback on its way. The steps fill in its event, which is reported when it ends. */
export class CallbackContext {
  readonly event: { -readonly [Name in keyof CallbackFinished]: CallbackFinished[Name] };
  /** For all of it, as for a request; on the monotonic clock. */
  readonly deadlineMs: number;
  readonly admission: Admission;
  delivery: Delivery | undefined;
  readonly #clock: Clock;
  readonly #startedMs: number;

  constructor(
    requestId: string,
    client: ClientConnection,
    { environment, listener, requestMs }: ReceivingListener,
    admission: Admission,
    clock: Clock,
  ) {
    const { method, target, headers, peer } = client;
    this.admission = admission;
    this.#clock = clock;
    this.#startedMs = clock.nowMs();
    this.deadlineMs = this.#startedMs + requestMs;
    this.event = {
      kind: "callback_finished",
      environment: environment.name,
      requestId,
      callerRequestId: peekRequestId(headers),
      traceId: peekTraceId(headers),
      method,
      target: target === undefined || method === "CONNECT" ? undefined : targetInLog(parseTarget(target)),
      listener,
      caller: peer?.subject,
      callerAddress: peer?.address,
      result: "internal",
      status: 0,
      outcome: "not_sent",
      durationMs: 0,
      callerLeft: false,
    };
  }

  /** The event as it is reported. */
  finish(isClosed: boolean): CallbackFinished {
    this.event.durationMs = this.#clock.nowMs() - this.#startedMs;
    this.event.callerLeft = isClosed;
    if (this.delivery?.isGuarded === false) this.event.isGuarded = false;
    return this.event;
  }
}
