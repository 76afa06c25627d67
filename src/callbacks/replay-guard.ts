import { hash } from "node:crypto";
import type { Claim, ClaimStore, FoundClaim } from "../claims/claim.ts";
import { ProxyError } from "../model/errors.ts";
import { digestOf } from "../model/secret.ts";
import type { CallbackMethod } from "./application.ts";
import type { GenuineCallback } from "./verify.ts";

const retryAfterMs = 1_000;
/** Longer: a callback that a process has forgotten stays forgotten. */
const forgottenRetryAfterMs = 60_000;
/** Replicas' clocks may differ by this much: one replica may still accept a callback that another has forgotten. */
const clockMarginMs = 60_000;
/** A delivery ends by its deadline; its lease is longer by this much. */
const leaseMarginMs = 5_000;

/** The bytes of a callback, by which an exact repetition is recognised. */
export interface CallbackBytes {
  readonly method: CallbackMethod;
  readonly query: string | undefined;
  readonly body: Uint8Array;
}

export interface ReplayRules {
  /** Environment and URL of the application: a callback that one application has accepted, another may still get. */
  readonly application: string;
  /** If it is not known whether a callback was delivered before, `strict` refuses it, and `best_effort` hands it over. */
  readonly mode: "strict" | "best_effort";
  /** `application.timeout`. */
  readonly timeoutMs: number;
  /** `remember`. */
  readonly rememberMs: number;
}

/** One delivery of a callback, with the claim that stops other deliveries of it. */
export class Delivery {
  /** False if the application may get the callback twice. */
  isGuarded: boolean;
  readonly #claim: Claim;

  constructor(claim: Claim, isGuarded: boolean) {
    this.#claim = claim;
    this.isGuarded = isGuarded;
  }

  /** The application has accepted the callback with this status: it is not delivered again. */
  confirm(status: number): Promise<void> {
    return this.#attempt(this.#claim.settle(String(status)));
  }

  /** The application has not accepted the callback: it may be delivered again at once. */
  release(): Promise<void> {
    return this.#attempt(this.#claim.release());
  }

  /** Writes even if the claim has failed: the store may have made the claim too late, or may work again. */
  async #attempt(write: Promise<void>): Promise<void> {
    await write.catch(() => {
      this.isGuarded = false;
    });
  }
}

/**
 * Claims a genuine callback, so that it may be handed to the application. The verified signature is remembered: a replay
 * has the signature of the original, whatever else in the callback was changed.
 * @param holder unique to this delivery
 * @param nowMs by the wall clock
 * @returns the delivery; or the application's status, if it has accepted exactly this callback before
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
    // One for each application and signature of a key: nobody can read the signature from it.
    key: digestOf(`${application}\n${callback.key.identifier}\n${callback.signature}`),
    holder,
    note,
    leaseMs: timeoutMs + leaseMarginMs,
    // Until the callback is too old.
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

/** A sender without an answer repeats the same bytes; a replay may have the signature, but other unsigned bytes. */
function readClaim({ kind, note, value }: FoundClaim, ownNote: string): number {
  if (kind === "held") {
    throw new ProxyError("callback_in_delivery", "The same callback is being delivered.", { retryAfterMs });
  }
  if (note === ownNote) return Number(value);
  throw new ProxyError("callback_replayed", "A callback with this signature was delivered, with other bytes.");
}

function digestBytes({ method, query, body }: CallbackBytes): string {
  const bytes = Buffer.concat([Buffer.from(`${method}\n${query ?? ""}\n`, "latin1"), body]);
  return hash("sha256", bytes, "buffer").subarray(0, 16).toString("base64url");
}
