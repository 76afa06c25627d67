import {
  authority,
  clientCertificate,
  clientKey,
  serverKey,
  weakCertificate,
  weakKey,
} from "../../../testkit/certificates.ts";
import { fault, inSandbox, itRefuses } from "./refusal.ts";

const tlsFiles = { ca: authority, cert: clientCertificate, key: clientKey, other: serverKey };

const tls = [
  fault("a client certificate without its key", inSandbox("tls: { certFile: DIR/cert }"), [
    ".tls.keyFile",
    /no key/,
    /keyFile/,
  ]),
  fault("a client key without its certificate", inSandbox("tls: { keyFile: DIR/key }"), [
    ".tls.certFile",
    /no certificate/,
    /certFile/,
  ]),
  fault("a client key that is not the certificate's", inSandbox("tls: { certFile: DIR/cert, keyFile: DIR/other }"), [
    ".tls.keyFile",
    /not the certificate's/,
    /certFile/,
  ]),
  fault("an authority that is not PEM", inSandbox("tls: { caFile: DIR/k1 }"), [".tls.caFile", /no certificate/, /PEM/]),
  fault(
    "an authority with a damaged second certificate",
    inSandbox("tls: { caFile: DIR/ca }"),
    [".tls.caFile", /damaged/, /PEM/],
    { files: { ca: `${authority}${authority.replace("MIIB", "MIIX")}` } },
  ),
  fault(
    "an authority whose first certificate has lost its end",
    inSandbox("tls: { caFile: DIR/ca }"),
    [".tls.caFile", /damaged/, /PEM/],
    { files: { ca: `${authority.replace(/-----END.*/, "")}${authority}` } },
  ),
  fault(
    "a private key that does not parse",
    inSandbox("tls: { certFile: DIR/cert, keyFile: DIR/key }"),
    [".tls.keyFile", /no private key/, /passphrase/],
    { files: { key: clientKey.replace("MIGH", "MIGX") } },
  ),
  fault(
    "a certificate that OpenSSL will not have",
    inSandbox("tls: { certFile: DIR/cert, keyFile: DIR/key }"),
    [".tls.certFile", /OpenSSL/, /too weak/],
    { files: { cert: weakCertificate, key: weakKey } },
  ),
  fault("a missing authority", inSandbox("tls: { caFile: DIR/nothing }"), [".tls.caFile", /ENOENT/, /create the file/]),
];

itRefuses("broken TLS files", tls, tlsFiles);
