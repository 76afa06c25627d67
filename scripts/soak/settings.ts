import { hmacSite, oauthSite } from "../../testkit/simulated-sites.ts";

export const sites = [oauthSite, hmacSite] as const;

/** Long enough that a token becomes due only from time to time. */
export const tokenLifetimeSeconds = 1_800;
/** Short enough that a slow service is noticed; long enough for a machine that stalls. */
export const requestTimeoutMs = 10_000;
/** How long requests wait for a token. */
export const tokenTimeoutMs = 2_000;
