import { createHash } from "node:crypto";
import { ProxyError } from "../model/errors.ts";
import type { CallbackMethod } from "./application.ts";
import type { Claim, ReplayStore } from "./replay-store.ts";
import type { GenuineCallback } from "./verify.ts";

const retryAfterMs = 1_000;
/** Replicas' clocks may differ by this much: one of them may still accept what another has forgotten. */
const clockMarginMs = 60_000;
/** A delivery ends by its deadline; the claim outlives it by this much. */
const leaseMarginMs = 5_000;
/** No claim was made. */
const failed = { kind: "failed" } as const;
const receiptForm = /^(\d{3}) ([A-Za-z0-9_-]{22})$/;

/** What tells one callback's bytes from another's: nothing of it is signed twice. */
export interface CallbackBytes {
  readonly method: CallbackMethod;
  readonly query: string | undefined;
  readonly body: Uint8Array;
}

export interface ReplayRules {
  /** Whether a callback passes when the store fails or is full. */
  readonly mode: "strict" | "best_effort";
  /** `application.timeout`. */
  readonly timeoutMs: number;
}

/** One delivery of a callback, which no other delivers at the same time. */
export class Delivery {
  /** False where the store failed: the callback could be delivered twice. */
  isGuarded = true;
  readonly #store: ReplayStore;
  readonly #key: string;
  readonly #holder: string;
  readonly #digest: string;
  readonly #lifetimeMs: number;

  constructor(store: ReplayStore, key: string, holder: string, digest: string, lifetimeMs: number) {
    this.#store = store;
    this.#key = key;
    this.#holder = holder;
    this.#digest = digest;
    this.#lifetimeMs = lifetimeMs;
  }

  /** The application has taken it, by this status: nothing delivers it again. */
  confirm(status: number): Promise<void> {
    return this.#attempt(() => this.#store.confirm(this.#key, `${status} ${this.#digest}`, this.#lifetimeMs));
  }

  /** The application has not taken it: it may be delivered again at once. */
  release(): Promise<void> {
    return this.#attempt(() => this.#store.release(this.#key, this.#holder));
  }

  /** Also where the claim has failed: the store may have taken it too late to say so, or may be back. */
  async #attempt(write: () => Promise<void>): Promise<void> {
    await write().catch(() => {
      this.isGuarded = false;
    });
  }
}

/** Tells which of the callbacks of one listener may be handed to the application. */
export class ReplayGuard {
  readonly #application: string;
  readonly #rules: ReplayRules;
  readonly #store: ReplayStore;

  /** @param application the environment and the URL: what one application has taken, another may still get */
  constructor(application: string, rules: ReplayRules, store: ReplayStore) {
    this.#application = application;
    this.#rules = rules;
    this.#store = store;
  }

  /**
   * Claims a genuine callback. What is remembered is the signature that was verified: whatever else is changed about a
   * callback, a replay has the signature of the original.
   * @param holder unique to this delivery
   * @param nowMs by the wall clock
   * @returns the status of the application where it has taken this very callback before
   * @throws ProxyError callback_in_delivery, callback_replayed, replay_store_unavailable
   */
  async claim(
    callback: GenuineCallback,
    bytes: CallbackBytes,
    holder: string,
    nowMs: number,
  ): Promise<Delivery | number> {
    const store = this.#store;
    const key = keyOf(this.#application, callback);
    const digest = digestOf(bytes);
    const delivery = new Delivery(store, key, holder, digest, callback.expiresAtMs - nowMs + clockMarginMs);
    const claim = await store.claim(key, holder, this.#rules.timeoutMs + leaseMarginMs).catch(() => failed);
    switch (claim.kind) {
      case "claimed":
        return delivery;
      case "failed":
      case "unknown":
        if (this.#rules.mode === "best_effort") {
          delivery.isGuarded = false;
          return delivery;
        }
        // Else it would keep the repetition of the callback away for as long as its lease.
        if (claim.kind === "unknown") await delivery.release();
        throw unavailable();
      default:
        return readClaim(claim, digest);
    }
  }
}

function unavailable(): ProxyError {
  const what = "Whether this callback was delivered before cannot be looked up.";
  return new ProxyError("replay_store_unavailable", what, { retryAfterMs, causedBy: "replay" });
}

/** A sender repeats what it got no answer to; others repeat a signature with what it does not cover changed. */
function readClaim(claim: Extract<Claim, { kind: "in_delivery" | "taken" }>, digest: string): number {
  const [, status, taken] = claim.kind === "taken" ? (receiptForm.exec(claim.receipt) ?? []) : [];
  if (status === undefined) {
    throw new ProxyError("callback_in_delivery", "The same callback is being delivered.", { retryAfterMs });
  }
  if (taken === digest) return Number(status);
  throw new ProxyError("callback_replayed", "A callback with this signature was delivered, with other bytes.");
}

/** One for each application and signature of a key: the signature alone cannot be had from it. */
function keyOf(application: string, { key, signature }: GenuineCallback): string {
  return createHash("sha256").update(`${application}\n${key.identifier}\n${signature}`).digest("hex");
}

function digestOf({ method, query, body }: CallbackBytes): string {
  const hash = createHash("sha256")
    .update(`${method}\n${query ?? ""}\n`, "latin1")
    .update(body);
  return hash.digest().subarray(0, 16).toString("base64url");
}
