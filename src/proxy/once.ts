import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import { digestOf } from "../model/secret.ts";
import { compareNames } from "../signing/parameter-rules.ts";
import type { AccessEvent } from "./access-event.ts";
import { serialise } from "./authenticate.ts";
import type { PreparedRequest } from "./messages.ts";
import type { FirstRequest, KeyUse, OnceStore, RequestEnd } from "./once-store.ts";

const retryAfterMs = 1_000;
/** Only another configuration helps. */
const unconfiguredRetryAfterMs = 60_000;
/** A request ends by its deadline; the claim counts as in progress for this much longer. */
const leaseMarginMs = 1_000;

/** How keys are remembered. */
export interface OnceRules {
  /** Undefined without Redis: one process alone cannot promise anything. */
  readonly store: OnceStore | undefined;
  /** `once.ttl`. */
  readonly lifetimeMs: number;
}

/**
 * One request's use of the key that its client gave (Countersign-Once). The key is claimed before the first byte is sent;
 * its end is recorded before the client has its response.
 */
export class OnceKey {
  readonly #store: OnceStore;
  readonly #use: KeyUse;
  readonly #event: AccessEvent;
  #isClaimed = false;

  private constructor(store: OnceStore, use: KeyUse, event: AccessEvent) {
    this.#store = store;
    this.#use = use;
    this.#event = event;
  }

  /**
   * @param deadlineMs on the monotonic clock
   * @throws ProxyError once_unavailable, where there is no store
   */
  static open(
    key: string,
    prepared: PreparedRequest,
    { store, lifetimeMs }: OnceRules,
    { event, deadlineMs }: { readonly event: AccessEvent; readonly deadlineMs: number },
    clock: Clock,
  ): OnceKey {
    if (store === undefined) {
      event.once = "unavailable";
      const fix = "It needs the Redis that replicas share: tokens.cache: redis.";
      throw new ProxyError("once_unavailable", `Countersign-Once cannot be kept here. ${fix}`, {
        retryAfterMs: unconfiguredRetryAfterMs,
        causedBy: "tokens.cache",
      });
    }
    const { environment, site } = prepared.route;
    const use = {
      scope: [environment.name, site.identifier, key],
      requestId: event.requestId,
      content: contentOf(prepared),
      leaseMs: Math.max(0, deadlineMs - clock.nowMs()) + leaseMarginMs,
      lifetimeMs,
    };
    return new OnceKey(store, use, event);
  }

  /**
   * The second attempt of a request is the same use of its key.
   * @throws ProxyError already_sent, once_in_progress, once_key_reused, once_unavailable
   */
  async claim(): Promise<void> {
    if (this.#isClaimed) return;
    const first = await this.#store.claim(this.#use).catch(() => {
      this.#event.once = "unavailable";
      const what = "Whether a request with this Countersign-Once was sent before cannot be looked up.";
      throw new ProxyError("once_unavailable", what, { retryAfterMs, causedBy: "Redis" });
    });
    if (first === undefined) {
      this.#isClaimed = true;
      return;
    }
    this.#event.onceFirst = first.requestId;
    throw this.#refuse(first);
  }

  /** Never fails: a key whose end is not written reads as `unknown`. */
  async recordEnd(end: RequestEnd): Promise<void> {
    if (!this.#isClaimed) return;
    const result = end.outcome === "not_sent" ? "freed" : "recorded";
    this.#event.once = await this.#store.recordEnd(this.#use, end).then(
      () => result,
      () => "unrecorded",
    );
  }

  #refuse(first: FirstRequest): ProxyError {
    const { end, isSame } = first;
    const at = new Date(first.atMs).toISOString();
    const status = end?.status === undefined ? {} : { status: end.status };
    const members = { first: { request_id: first.requestId, time: at, outcome: end?.outcome, ...status } };
    const details = { members, causedBy: "Countersign-Once" };
    const named = `request ${first.requestId} of ${at}`;
    if (!isSame) {
      this.#event.once = "key_reused";
      const what = `This Countersign-Once belongs to ${named}, whose operation or parameters are others.`;
      return new ProxyError("once_key_reused", `${what} Give each request a key of its own.`, details);
    }
    if (end === undefined) {
      this.#event.once = "in_progress";
      const what = `The first request with this Countersign-Once, ${named}, is being sent.`;
      return new ProxyError("once_in_progress", what, { ...details, retryAfterMs });
    }
    this.#event.once = "already_sent";
    return new ProxyError("already_sent", `This Countersign-Once was used by ${named}. ${describeEnd(end)}`, details);
  }
}

function describeEnd({ outcome, status }: RequestEnd): string {
  const answered = status === undefined ? "" : ` with status ${status}`;
  if (outcome === "answered") return `The service answered it${answered}.`;
  return `It was sent, and may have taken effect${status === undefined ? "" : `; it was answered${answered}`}. Look for it.`;
}

/** Set by the configuration, which may have changed before a repetition. */
const configured = ["version", "site_identifier"];

/** A digest of the operation and of what is sent, in an order of its own: clients write the members of an object in any order. */
function contentOf({ route, parameters }: PreparedRequest): string {
  const sent = parameters.filter(({ name }) => !configured.includes(name));
  sent.sort(compareNames);
  // A request may wait for long, and no memory is set aside for its body a second time.
  return digestOf(`${route.operation} ${serialise(sent)}`);
}
