import Redlock, { ExecutionError, type Lock, type RedlockClient, ResourceLockedError } from "redlock";
import type { Cancel, Clock } from "../../model/clock.ts";
import type { Lease, RefreshLock } from "../../oauth/token-store.ts";
import type { RedisConnection } from "./connection.ts";
import { aheadMs, redisKeys } from "./scripts.ts";

/** After the death of a holder others wait for this long at most. */
const leaseMs = 1_500;
/** Three renewals may come late or fail before the lock is lost: an event loop may stand still for a second. */
const renewEveryMs = 375;
/** No token request takes longer. A holder that hangs for longer loses the lock. */
const longestHoldMs = 90_000;

/** The condition in Redlock's script under which a key is locked. */
const isTaken = 'redis.call("exists", key) == 1';
/**
 * A key without an expiry, or with a later one than a lease can have, has no living holder: it was damaged, or Redis's clock
 * was set back. Such a lock is taken over.
 */
const isLeased = `redis.call("pttl", key) >= 0 and redis.call("pttl", key) <= ${leaseMs + aheadMs}`;

function takeOverWhatHasNoLease(acquireScript: string): string {
  if (!acquireScript.includes(isTaken)) throw new Error("Redlock takes locks in another way");
  return acquireScript.replace(isTaken, isLeased);
}

interface ClosableLock extends RefreshLock {
  /** Releases all held locks, so that no other process waits for a process that is ending. */
  close(): Promise<void>;
}

/**
 * A Redlock over one server or a majority of several independent ones, tried once. If no majority answers, the server of the
 * tokens locks alone: a refresh needs that server. Redlock's own retries, waits and `using()` are not used: with its defaults
 * a dead server delayed callers for two minutes, and a contended `acquire` may return a lock that has already expired.
 * @param cache the server of the tokens
 * @param others further masters of the lock
 */
export function createRedisRefreshLock(
  cache: RedisConnection,
  others: readonly RedisConnection[],
  clock: Clock,
): ClosableLock {
  const open = (connections: readonly RedisConnection[]) =>
    new Redlock(connections.map(toRedlockClient), { retryCount: 0 }, { acquireScript: takeOverWhatHasNoLease });
  const redlocks = others.length === 0 ? [open([cache])] : [open([cache, ...others]), open([cache])];
  const held = new Set<Lease>();

  async function acquire(name: string): Promise<Lock | "held" | "unavailable"> {
    for (const redlock of redlocks) {
      const lock = await redlock.acquire([name], leaseMs).catch(explainRefusal);
      if (lock !== "unavailable") return lock;
    }
    return "unavailable";
  }

  return {
    async tryAcquire(key) {
      const triedAtMs = clock.nowMs();
      const lock = await acquire(redisKeys(key).lock);
      if (typeof lock === "string") return lock;
      const lease: Lease = renewUntilReleased(lock, clock, () => held.delete(lease));
      held.add(lease);
      if (clock.nowMs() - triedAtMs < leaseMs / 2) return lease;
      await lease.release();
      return "held";
    },
    async close() {
      await Promise.all([...held].map((lease) => lease.release()));
    },
  };
}

/**
 * Renews the lock until it is released. A failed renewal is repeated while the lock may still be this holder's; the script
 * leaves another holder's lock alone.
 */
function renewUntilReleased(acquired: Lock, clock: Clock, onRelease: () => void): Lease {
  const heldSinceMs = clock.nowMs();
  let renewedAtMs = heldSinceMs;
  let lock = acquired;
  let renewing: Promise<void> = Promise.resolve();
  let cancel: Cancel = () => {};
  const renew = async () => {
    if (clock.nowMs() - heldSinceMs >= longestHoldMs) return;
    // Redlock compares with the wall clock, which may have been set forward; Redis knows whether the lock is still ours.
    lock.expiration = Number.MAX_SAFE_INTEGER;
    const askedAtMs = clock.nowMs();
    const renewed = await lock.extend(leaseMs).catch(() => undefined);
    if (renewed !== undefined) {
      lock = renewed;
      renewedAtMs = askedAtMs;
    }
    if (clock.nowMs() < renewedAtMs + leaseMs) renewLater();
  };
  const renewLater = () => {
    cancel = clock.after(renewEveryMs, () => {
      renewing = renew();
    });
  };
  renewLater();
  return {
    async release() {
      onRelease();
      await renewing;
      cancel();
      // If this fails, the lock expires by itself.
      await lock.release().catch(() => {});
    },
  };
}

/** `held`: a majority answered, and another holder has the lock on some server. Otherwise that is not known. */
async function explainRefusal(error: unknown): Promise<"held" | "unavailable"> {
  const votes = error instanceof ExecutionError ? await error.attempts[0] : undefined;
  if (votes === undefined) return "unavailable";
  const locked = [...votes.votesAgainst.values()].filter((reason) => reason instanceof ResourceLockedError).length;
  return locked > 0 && locked + votes.votesFor.size >= votes.quorumSize ? "held" : "unavailable";
}

/** Redlock sends the text of a script whose hash is not known: then each of its commands is one command, like all others. */
function toRedlockClient(connection: RedisConnection): RedlockClient {
  return {
    evalsha: () => Promise.reject(new Error("NOSCRIPT")),
    eval: (text, numberOfKeys, args) =>
      connection.run(String(args[0]), (client) => client.eval(text, numberOfKeys, ...args)),
  };
}
