import type { Environment } from "../../environment.ts";
import type { Metrics } from "./metrics.ts";

/**
 * Shows what the configuration in force says and no request changes. What the one before had, and this one has not, goes.
 * @param inFlightLimit `limits.inFlightPerEnvironment`
 */
export function showConfigured(metrics: Metrics, environments: readonly Environment[], inFlightLimit: number): void {
  metrics.inFlightLimit.reset();
  metrics.credentialInfo.reset();
  for (const { name: environment, sites } of environments) {
    metrics.inFlightLimit.set({ environment }, inFlightLimit);
    for (const { identifier, credentials } of sites.values()) {
      if (credentials?.owner !== identifier) continue;
      for (const [index, { label: credential }] of credentials.sets.entries()) {
        metrics.credentialInfo.set({ environment, credential, position: index === 0 ? "first" : "second" }, 1);
      }
    }
  }
}
