import { X509Certificate } from "node:crypto";

const certificate = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/**
 * When the first of a file's certificates expires, in seconds of Unix time; undefined where it has none that can be read.
 * @param pem what was read from the file
 */
export function earliestExpirySeconds(pem: string): number | undefined {
  const expiries = [...pem.matchAll(certificate)].flatMap(([text]) => readExpiry(text));
  return expiries.length === 0 ? undefined : Math.min(...expiries);
}

/** What OpenSSL cannot read was refused with the configuration, or expires never. */
function readExpiry(pem: string): readonly number[] {
  try {
    const expiry = Date.parse(new X509Certificate(pem).validTo) / 1_000;
    return Number.isNaN(expiry) ? [] : [expiry];
  } catch {
    return [];
  }
}
