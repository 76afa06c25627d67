import type { CallbackFinished } from "../model/callback-events.ts";
import type { Clock } from "../model/clock.ts";
import type { RequestBuffer } from "../proxy/buffer-budget.ts";
import type { ClientConnection } from "../proxy/messages.ts";
import { peekRequestId, peekTraceId } from "../proxy/request-options.ts";
import { parseTarget, targetInLog } from "../proxy/target.ts";
import type { Delivery } from "./replay-guard.ts";

/** A body has this long to arrive. */
const receiveMs = 15_000;
/** An answer has this long to be read. */
export const replyMs = 5_000;
/** The store of replays answers within this, when asked twice. */
const storeMs = 2_000;

/** The longest that a callback may take in all. */
export function longestCallbackMs(timeoutMs: number): number {
  return receiveMs + storeMs + timeoutMs + replyMs;
}

/** One callback on its way. The steps fill in its event, which is reported when it ends. */
export class CallbackContext {
  readonly event: { -readonly [Name in keyof CallbackFinished]: CallbackFinished[Name] };
  /** Until when its body must be there; on the monotonic clock. */
  readonly receiveDeadlineMs: number;
  buffer: RequestBuffer | undefined;
  delivery: Delivery | undefined;
  /** It counts as being served. */
  isAdmitted = false;
  hasPermit = false;
  readonly #clock: Clock;
  readonly #startedMs: number;

  constructor(requestId: string, client: ClientConnection, environment: string, listener: string, clock: Clock) {
    const { method, target, headers, peer } = client;
    this.#clock = clock;
    this.#startedMs = clock.nowMs();
    this.receiveDeadlineMs = this.#startedMs + receiveMs;
    this.event = {
      kind: "callback_finished",
      environment,
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
