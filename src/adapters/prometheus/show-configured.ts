import type { Environment } from "../../environment.ts";
import type { Metrics } from "./metrics.ts";

/** What there is to show of a configuration in force. */
export interface Configured {
  readonly environments: readonly Environment[];
  /** `limits.inFlightPerEnvironment` */
  readonly inFlightLimit: number;
  /** The servers in use, and what is known of them by now. */
  readonly redis: readonly { readonly node: string; readonly isUp: boolean | undefined }[];
}

/** Shows what the configuration in force says and no request changes. What the one before had, and this one has not, goes. */
export function showConfigured(metrics: Metrics, { environments, inFlightLimit, redis }: Configured): void {
  metrics.inFlightLimit.reset();
  metrics.credentialInfo.reset();
  metrics.redisUp.reset();
  for (const { node, isUp } of redis) metrics.redisUp.set({ node }, isUp === true ? 1 : 0);
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
