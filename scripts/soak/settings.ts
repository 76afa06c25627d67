import { hmacSite, oauthSite } from "../../testkit/simulated-sites.ts";

export const sites = [oauthSite, hmacSite] as const;

/** Long enough for a token to become due but once in a while. */
export const tokenLifetimeSeconds = 1_800;
/** Short, so that a slow service shows; long enough for a machine that stalls. */
export const requestTimeoutMs = 5_000;
/** How long requests wait for a token. */
export const tokenTimeoutMs = 2_000;
