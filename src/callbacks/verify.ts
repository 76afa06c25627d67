import type { ForgeryReason } from "../model/callback-events.ts";
import type { Environment, SigningKey, Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { findSigner, isSigned } from "../signing/hmac.ts";

/** What a callback is verified by. */
export interface VerifyRules {
  readonly environment: Environment;
  /** Names that are not signed; always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
  /** How far its timestamp may be from our clock, either way. */
  readonly windowMs: number;
}

/** A callback that the service has signed. */
export interface GenuineCallback {
  readonly site: Site;
  /** The key whose signature it has. */
  readonly key: SigningKey;
  readonly signature: string;
  /** When its timestamp leaves the window: it is refused from then on. By the wall clock. */
  readonly expiresAtMs: number;
}

/** A callback that is not the service's. Its message tells a forger nothing; the log has the reason. */
export class NotGenuine extends ProxyError {
  readonly reason: ForgeryReason;
  /** Where one was named that is configured. */
  readonly site: Site | undefined;

  constructor(reason: ForgeryReason, site?: Site) {
    super("callback_not_genuine", "This is not a callback of the service, by its signature, its time or its site.", {
      causedBy: reason,
    });
    this.reason = reason;
    this.site = site;
  }
}

/**
 * Verifies a callback by spec 5.2, with the keys of the site that it names. The time is looked at last: only what is
 * signed can be late.
 * @param nowMs by the wall clock
 * @throws NotGenuine
 */
export function verifyCallback(
  parameters: ReadonlyMap<string, string>,
  { environment, exempt, windowMs }: VerifyRules,
  nowMs: number,
): GenuineCallback {
  if (!isSigned(parameters)) throw new NotGenuine("parameter_missing");
  const read = (name: string) => parameters.get(name) ?? "";
  const identifier = read("site_identifier");
  const site = environment.sites.get(identifier) ?? environment.siteOfKey.get(identifier);
  if (site === undefined) throw new NotGenuine("site_unknown");
  const keys = keysOf(site, identifier).filter((key) => key.version === read("version"));
  if (keys.length === 0) throw new NotGenuine("key_missing", site);
  const key = findSigner(parameters, keys, exempt);
  if (key === undefined) throw new NotGenuine("signature_wrong", site);
  const timestamp = read("timestamp");
  const signedAtMs = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN;
  if (!(Math.abs(nowMs - signedAtMs) <= windowMs)) throw new NotGenuine("timestamp_outside_window", site);
  return { site, key, signature: read("signature"), expiresAtMs: signedAtMs + windowMs };
}

/** The service signs with the default key (spec 5.3); while one replaces another, either may be in use. */
function keysOf({ keys, defaultKey }: Site, identifier: string): SigningKey[] {
  const named = keys.filter((key) => key.identifier === identifier);
  return [...new Set([...named, ...(defaultKey === undefined ? [] : [defaultKey]), ...keys])];
}
