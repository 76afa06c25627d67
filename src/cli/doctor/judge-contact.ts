import { type Finding, ok, printable, warn } from "./check.ts";
import { type Destination, explainFailure } from "./explain-failure.ts";
import type { Certificate, Contact } from "./probe.ts";

const dayMs = 86_400_000;
/** Authorities renew earlier than that: who is later has no working renewal. */
const renewalDays = 14;

export function evaluateContact(contact: Contact, to: Destination, nowMs: number): Finding {
  const { isConnected, code, protocol, certificate } = contact;
  // A server that wants another client certificate says so only after the handshake (TLS 1.3).
  if (code !== undefined && (!isConnected || /SSL|TLS/.test(code))) return explainFailure(code, to, certificate, nowMs);
  if (protocol !== undefined) return judgeCertificate(certificate, protocol, nowMs);
  const detail = "connected, without TLS (allowPlaintext): whoever is in between reads and changes everything";
  return warn(detail, `write https:// in ${to.setting}; plain http is for tests and the simulator`);
}

function judgeCertificate(certificate: Certificate | undefined, protocol: string, nowMs: number): Finding {
  if (certificate === undefined) return ok(`${protocol}, verified`);
  const { subject, issuer, validToMs } = certificate;
  const days = Math.floor((validToMs - nowMs) / dayMs);
  const names = `certificate of ${printable(subject)} by ${printable(issuer)}`;
  const detail = `${protocol}, ${names}, valid for another ${days} ${days === 1 ? "day" : "days"}`;
  if (days >= renewalDays) return ok(detail);
  return warn(detail, "its owner has to renew it before that; from then on nothing can be sent");
}
