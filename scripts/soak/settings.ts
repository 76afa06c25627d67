import { hmacSite, oauthSite } from "../../testkit/simulated-sites.ts";

export const sites = [oauthSite, hmacSite] as const;

/** Long enough that a token becomes due only from time to time. */
export const tokenLifetimeSeconds = 1_800;
/** The product's default. An order in doubt waits up to 11 s for the proof of its 401, and then needs time for its second attempt. */
export const requestTimeoutMs = 20_000;
/** How long requests wait for a token. */
export const tokenTimeoutMs = 2_000;
