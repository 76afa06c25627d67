import { createHash } from "node:crypto";
import type { Claim, ClaimStore, FoundClaim } from "../claims/claim.ts";
import { ProxyError } from "../model/errors.ts";
import { digestOf } from "../model/secret.ts";
import type { CallbackMethod } from "./application.ts";
import type { GenuineCallback } from "./verify.ts";

const retryAfterMs = 1_000;
/** A process that has forgotten does not remember again. */
const forgottenRetryAfterMs = 60_000;
/** Replicas' clocks may differ by this much: one of them may still accept what another has forgotten. */
const clockMarginMs = 60_000;
/** A delivery ends by its deadline; its lease is longer by this much. */
const leaseMarginMs = 5_000;

/** What tells one callback's bytes from another's: nothing of it is signed twice. */
export interface CallbackBytes {
  readonly method: CallbackMethod;
  readonly query: string | undefined;
  readonly body: Uint8Array;
}

export interface ReplayRules {
  /** The environment and the URL: what one application has taken, another may still get. */
  readonly application: string;
  /** Whether a callback passes of which it cannot be told whether it was delivered. */
  readonly mode: "strict" | "best_effort";
  /** `application.timeout`. */
  readonly timeoutMs: number;
  /** `remember`. */
  readonly rememberMs: number;
}

/** One delivery of a callback, which no other delivers at the same time. */
export class Delivery {
  /** False where the application may get the callback twice. */
  isGuarded: boolean;
  readonly #claim: Claim;

  constructor(claim: Claim, isGuarded: boolean) {
    this.#claim = claim;
    this.isGuarded = isGuarded;
  }

  /** The application has taken it, by this status: nothing delivers it again. */
  confirm(status: number): Promise<void> {
    return this.#attempt(this.#claim.settle(String(status)));
  }

  /** The application has not taken it: it may be delivered again at once. */
  release(): Promise<void> {
    return this.#attempt(this.#claim.release());
  }

  /** Also where the claim has failed: the store may have taken it too late to say so, or may be back. */
  async #attempt(write: Promise<void>): Promise<void> {
    await write.catch(() => {
      this.isGuarded = false;
    });
  }
}

/**
 * Claims a genuine callback, so that it may be handed to the application. What is remembered is the signature that was
 * verified: whatever else is changed about a callback, a replay has the signature of the original.
 * @param holder unique to this delivery
 * @param nowMs by the wall clock
 * @returns the status of the application where it has taken this very callback before
 * @throws ProxyError callback_in_delivery, callback_replayed, replay_store_unavailable
 */
export async function claimDelivery(
  callback: GenuineCallback,
  bytes: CallbackBytes,
  holder: string,
  nowMs: number,
  { application, mode, timeoutMs, rememberMs }: ReplayRules,
  claims: ClaimStore,
): Promise<Delivery | number> {
  const note = digestBytes(bytes);
  const claim = claims.open({
    kind: "callback",
    // One for each application and signature of a key: the signature alone cannot be had from it.
    key: digestOf(`${application}\n${callback.key.identifier}\n${callback.signature}`),
    holder,
    note,
    leaseMs: timeoutMs + leaseMarginMs,
    // As long as it is not too old.
    lifetimeMs: callback.signedAtMs + rememberMs - nowMs + clockMarginMs,
    isTakenOver: true,
    bornMs: callback.signedAtMs,
  });
  const result = await claim.make().catch(() => undefined);
  if (result === undefined && mode === "strict") throw unavailable("cannot be looked up", "replay", retryAfterMs);
  if (result !== undefined && result.kind !== "claimed") return readClaim(result, note);
  const delivery = new Delivery(claim, result !== undefined && result.doubt === undefined);
  if (mode === "strict" && result?.doubt === "forgotten") {
    await delivery.release();
    const what = "is not known: it is older than what this process remembers, and no Redis remembers more";
    throw unavailable(what, "tokens.cache", forgottenRetryAfterMs);
  }
  return delivery;
}

function unavailable(what: string, causedBy: string, afterMs: number): ProxyError {
  const message = `Whether this callback was delivered before ${what}.`;
  return new ProxyError("replay_store_unavailable", message, { retryAfterMs: afterMs, causedBy });
}

/** A sender repeats what it got no answer to; others repeat a signature with what it does not cover changed. */
function readClaim({ kind, note, value }: FoundClaim, ownNote: string): number {
  if (kind === "held") {
    throw new ProxyError("callback_in_delivery", "The same callback is being delivered.", { retryAfterMs });
  }
  if (note === ownNote) return Number(value);
  throw new ProxyError("callback_replayed", "A callback with this signature was delivered, with other bytes.");
}

function digestBytes({ method, query, body }: CallbackBytes): string {
  const hash = createHash("sha256")
    .update(`${method}\n${query ?? ""}\n`, "latin1")
    .update(body);
  return hash.digest().subarray(0, 16).toString("base64url");
}
