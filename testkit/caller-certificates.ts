/**
 * Client certificates for tests only, of one authority, and all with the key `clientKey` (certificates.ts). Made once with
 * `openssl ca` (P-256, 2020 to 2120).
 */
import { readFileSync } from "node:fs";

const pem = (name: string) => readFileSync(new URL(`caller-certificates/${name}.pem`, import.meta.url), "utf8");

/** The authority of all certificates below; the listener's own certificate has another authority. */
export const callersAuthority = pem("callers-authority");

/** `URI:spiffe://prod.example/ns/pay/sa/payments`, and no subject, as SPIFFE issues them. */
export const paymentsCertificate = pem("payments-certificate");

/** `DNS:Reports.Example, DNS:other.example`. */
export const reportsCertificate = pem("reports-certificate");

/** `URI:spiffe://prod.example/ns/pay/sa/payments2`: a workload that no configuration names. */
export const strangerCertificate = pem("stranger-certificate");

/** The URI of payments and the DNS name of reports. */
export const bothCertificate = pem("both-certificate");

/** No name except the subject's, `CN=reports.example`. */
export const namelessCertificate = pem("nameless-certificate");

/** Names that a careless reader takes for those of payments and reports; a wildcard; `CN=reports.example`. */
export const hostileCertificate = pem("hostile-certificate");
