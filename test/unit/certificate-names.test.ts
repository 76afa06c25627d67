/** The names by which a certificate identifies a caller. */
import { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { certificateNames } from "../../src/model/listener.ts";
import {
  bothCertificate,
  hostileCertificate,
  namelessCertificate,
  paymentsCertificate,
  reportsCertificate,
} from "../../testkit/caller-certificates.ts";

it.each<[string, string, readonly string[]]>([
  ["of payments", paymentsCertificate, ["URI:spiffe://prod.example/ns/pay/sa/payments"]],
  ["of reports", reportsCertificate, ["DNS:reports.example", "DNS:other.example"]],
  ["of both", bothCertificate, ["URI:spiffe://prod.example/ns/pay/sa/payments", "DNS:reports.example"]],
  ["of nameless", namelessCertificate, []],
  ["of hostile", hostileCertificate, ["DNS:*.example"]],
])("the names in the certificate %s", (_, certificate, names) => {
  expect(certificateNames(new X509Certificate(certificate).subjectAltName)).toEqual(names);
});

it.each<[string, readonly string[]]>([
  ["URI:urn:a, DNS:b", ["URI:urn:a", "DNS:b"]],
  ["IP Address:127.0.0.1, DNS:b", ["DNS:b"]],
  ["email:a@b, DNS:b, Registered ID:1.2.3", ["DNS:b"]],
  ["othername:<unsupported>, X400Name:<unsupported>, DNS:b", ["DNS:b"]],
  ['DirName:"CN=a\\u002c DNS:c", DNS:b', ["DNS:b"]],
  ['URI:"urn:a", DNS:b', ["DNS:b"]],
])("the names that Node.js writes as %s", (text, names) => {
  expect(certificateNames(text)).toEqual(names);
});

it.each(["DNS:a, ", "DNS:a,DNS:b", 'DNS:"a, DNS:b', "DNS", ":a", 'DNS:a"b', "DNS:a,, DNS:b"])(
  "a text that cannot be parsed to its end names no caller: %s",
  (text) => {
    expect(certificateNames(text)).toEqual([]);
  },
);
