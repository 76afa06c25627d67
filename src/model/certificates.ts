/** Anything up to the end, so that a damaged certificate is found and does not parse. */
const certificate = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** The certificates in a text, each in PEM; whether they parse is not known. */
export function splitCertificates(pem: string): readonly string[] {
  return pem.match(certificate) ?? [];
}
