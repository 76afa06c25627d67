import { hmacSite, oauthSite } from "../../testkit/replicas.ts";

export const sites = [oauthSite, hmacSite] as const;

/** Long enough for a token to become due but once in a while. */
export const tokenLifetimeSeconds = 1_800;
/** Short, so that a slow service shows; long enough for a machine that stalls. */
export const requestTimeoutMs = 5_000;
/** How long requests wait for a token. */
export const tokenTimeoutMs = 2_000;

/** What a replica is configured by, beside what all replicas of scripts are. A reload changes the time to wait for a token. */
export function settingsWith(tokenMs: number): object {
  return {
    timeouts: { request: `${requestTimeoutMs}ms`, connect: "1s", token: `${tokenMs}ms` },
    // A service that answers nothing for two seconds must not look like too many callers.
    limits: { inFlightPerEnvironment: 10_000, connections: 10_000 },
  };
}
