import type { Clock } from "../../model/clock.ts";
import type { Environment } from "../../model/environment.ts";
import { credentialKey, reportTo } from "../../model/events.ts";

/**
 * Ready once listening, or, with `readiness: token`, once a credential set of every default site has had a token, or its orders
 * are signed in an outage (`bridge`). It stays
 * ready when tokens expire or the configuration changes: an outage of the authorization server must not take every
 * application out. Draining ends it, and, with `reload.unreadyAfterRefusal`, a newest configuration that stays refused.
 */
export function createReadiness(clock: Clock) {
  let awaited: readonly Environment[] = [];
  let mostRefusedMs = Number.POSITIVE_INFINITY;
  /** When a configuration was first refused since the last one that was accepted. */
  let refusedAtMs: number | undefined;
  let isListening = false;
  let wasReady = false;
  let isDraining = false;
  /** Sets that have had a token, which may have lapsed since. */
  const served = new Set<string>();
  /** Sets whose token request has failed. */
  const failed = new Set<string>();
  const forgiveRefusal = () => {
    refusedAtMs = undefined;
  };

  /** The first default site whose sets have had no token yet; undefined for good once each has had one. */
  const findMissing = (): string | undefined => {
    if (wasReady || !isListening) return undefined;
    for (const { name: environment, defaultSite, sites } of awaited) {
      const { credentials, bridge } = sites.get(defaultSite ?? "") ?? {};
      if (credentials === undefined) continue;
      const keys = credentials.sets.map(({ label }) => credentialKey({ environment, credential: label }));
      // One of its sets is enough. With a bridge, orders are signed once all have failed.
      const isServed =
        keys.some((key) => served.has(key)) || (bridge !== undefined && keys.every((key) => failed.has(key)));
      if (!isServed) return `${environment}: ${credentials.owner}`;
    }
    wasReady = true;
    return undefined;
  };

  return {
    /**
     * Waits for the tokens of these environments from now on, unless it was ready already.
     * @param environments empty with `readiness: listening`
     * @param unreadyAfterRefusalMs how long the newest configuration may stay refused; undefined: for ever
     */
    follow(environments: readonly Environment[], unreadyAfterRefusalMs = Number.POSITIVE_INFINITY): void {
      mostRefusedMs = unreadyAfterRefusalMs;
      findMissing();
      awaited = environments;
    },

    report: reportTo({
      started() {
        isListening = true;
      },
      token_adopted: (event) => served.add(credentialKey(event)),
      token_requested(event) {
        if (event.result !== "issued") failed.add(credentialKey(event));
      },
      draining() {
        isDraining = true;
      },
      config_refused() {
        refusedAtMs ??= clock.nowMs();
      },
      config_applied: forgiveRefusal,
      config_unchanged: forgiveRefusal,
    }),

    /** The answer of `/readyz`, and whether only a first token is missing. */
    view(): { readonly isReady: boolean; readonly awaitsToken: boolean; readonly reason: string } {
      const notReady = { isReady: false, awaitsToken: false };
      if (isDraining) return { ...notReady, reason: "draining" };
      if (!isListening) return { ...notReady, reason: "starting" };
      if (refusedAtMs !== undefined && clock.nowMs() - refusedAtMs >= mostRefusedMs) {
        return { ...notReady, reason: "the newest configuration is refused; the one before it stays active" };
      }
      const missing = findMissing();
      if (missing === undefined) return { isReady: true, awaitsToken: false, reason: "ok" };
      return { isReady: false, awaitsToken: true, reason: `no token yet for ${missing}` };
    },
  };
}
