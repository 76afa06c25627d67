import type { Environment, SigningKey, Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { ForgeryReason } from "../model/events.ts";
import { findSigner, isSigned } from "../parameters/signature.ts";

export interface VerifyRules {
  readonly environment: Environment;
  /** Names that are not signed; always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
}

/** A callback that the service has signed. */
export interface GenuineCallback {
  readonly site: Site;
  /** The key that signed it. */
  readonly key: SigningKey;
  readonly signature: string;
  /** Its timestamp, by the service's clock. */
  readonly signedAtMs: number;
}

/** The service's clock, or ours, may be wrong by this much. */
const longestAheadMs = 600_000;
const notGenuine = "Signature, timestamp or site show that this is no callback of the service.";

/** A callback that is not the service's. Its message does not give the reason to a forger; the log has the reason. */
export class NotGenuine extends ProxyError {
  readonly reason: ForgeryReason;
  /** The site that the callback names, if it is configured. */
  readonly site: Site | undefined;
  /** The identifier of a site that is not configured. */
  readonly unknownSite: string | undefined;

  constructor(reason: ForgeryReason, site?: Site, unknownSite?: string) {
    super("callback_not_genuine", notGenuine, { causedBy: reason });
    this.reason = reason;
    this.site = site;
    this.unknownSite = unknownSite;
  }
}

/**
 * Verifies a callback by spec 5.2 and 5.3. The timestamp is checked last, since only a valid signature proves it.
 * @param nowMs by the wall clock
 * @throws NotGenuine
 */
export function verifyCallback(
  parameters: ReadonlyMap<string, string>,
  { environment, exempt }: VerifyRules,
  nowMs: number,
): GenuineCallback {
  if (!isSigned(parameters)) throw new NotGenuine("parameter_missing");
  const read = (name: string) => parameters.get(name) ?? "";
  const identifier = read("site_identifier");
  const site = environment.sites.get(identifier) ?? environment.siteOfKey.get(identifier);
  if (site === undefined) throw new NotGenuine("site_unknown", undefined, identifier);
  const keys = keysOf(site, identifier, nowMs).filter((key) => key.version === read("version"));
  if (keys.length === 0) throw new NotGenuine("key_missing", site);
  const key = findSigner(parameters, keys, exempt);
  if (key === undefined) throw new NotGenuine("signature_wrong", site);
  const timestamp = read("timestamp");
  if (!/^\d{1,12}$/.test(timestamp)) throw new NotGenuine("timestamp_invalid", site);
  return { site, key, signature: read("signature"), signedAtMs: Number(timestamp) * 1_000 };
}

/**
 * Refuses a genuine callback that is older than `rememberMs`, since it may have been delivered before. A callback from the
 * future only proves that a clock is wrong: it may be sent again later.
 * @param nowMs by the wall clock
 * @throws ProxyError callback_too_old, callback_too_early
 */
export function checkAge({ signedAtMs }: GenuineCallback, rememberMs: number, nowMs: number): void {
  if (nowMs > signedAtMs + rememberMs) {
    const what = `The callback was signed at ${new Date(signedAtMs).toISOString()}, longer ago than callbacks are remembered.`;
    throw new ProxyError("callback_too_old", `${what} Look at its order at the service.`, { causedBy: "timestamp" });
  }
  const earlyMs = signedAtMs - longestAheadMs - nowMs;
  if (earlyMs <= 0) return;
  const what = `The callback is signed, and its timestamp is ${new Date(signedAtMs).toISOString()}, which is still to come.`;
  const fix = `Here it is ${new Date(nowMs).toISOString()}: a clock is wrong, here or at the service.`;
  throw new ProxyError("callback_too_early", `${what} ${fix}`, { retryAfterMs: earlyMs, causedBy: "timestamp" });
}

/** K… means that key. S… means the site's default key (spec 5.3), and for a time also the keys of `alsoVerifyWith`. */
function keysOf(
  { identifier, keys, defaultKey, alsoVerifyWith = [] }: Site,
  named: string,
  nowMs: number,
): SigningKey[] {
  if (named !== identifier) return keys.filter((key) => key.identifier === named);
  const further = alsoVerifyWith.filter(({ untilMs }) => nowMs < untilMs).map(({ key }) => key);
  return defaultKey === undefined ? further : [defaultKey, ...further];
}
