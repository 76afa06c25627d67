/**
 * Remembers which callbacks are being delivered and which the application has taken. A callback that nothing is known of
 * may be claimed; of several that claim it at the same moment, in whichever process, one succeeds. A claim ends when it is
 * confirmed or released, or by itself after its lease, since the process that holds it may die. What is confirmed stays,
 * whichever process holds a claim by then, until its lifetime is over: the application has taken it.
 *
 * Every method may fail with an error of any kind, and is answered within a second. What could not be confirmed or released
 * for want of the store is made good when it is back, as far as this process lives. Nothing but hashes is stored.
 */
export interface ReplayStore {
  /**
   * A claim that fails was not made.
   * @param holder unique to this delivery
   * @param leaseMs longer than the delivery can take
   */
  claim(key: string, holder: string, leaseMs: number): Promise<Claim>;
  /** @param receipt what `claim` tells from now on */
  confirm(key: string, receipt: string, lifetimeMs: number): Promise<void>;
  /** Ends the holder's claim, and no other: the callback may be delivered again. */
  release(key: string, holder: string): Promise<void>;
}

/** `unknown`: no answer came; the claim may stand, and is to be released. `taken`: the application has taken it. */
export type Claim =
  | { readonly kind: "claimed" }
  | { readonly kind: "unknown" }
  | { readonly kind: "in_delivery" }
  | { readonly kind: "taken"; readonly receipt: string };

/** The store of one process holds as much as it may. */
export class ReplayStoreFull extends Error {
  override readonly name = "ReplayStoreFull";
}
