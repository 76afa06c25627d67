export const callerSignatureResults = ["valid", "invalid", "unknown_key", "incomplete", "missing"] as const;
/**
 * What is found of the signature that a caller makes itself, from its days with HMAC. `valid`: it is that of
 * the key that the service would check it with, over what the caller sent (spec 5.2, 5.3). `invalid`: it is not the key's. `unknown_key`: no such key of that version is configured at the site.
 * `incomplete`: version, site_identifier or timestamp is missing. `missing`: there is no signature.
 */
export type CallerSignatureResult = (typeof callerSignatureResults)[number];
