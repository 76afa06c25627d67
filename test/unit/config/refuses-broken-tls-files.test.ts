import {
  authority,
  clientCertificate,
  clientKey,
  serverKey,
  weakCertificate,
  weakKey,
} from "../../../testkit/certificates.ts";
import { after, inSandbox, itRefuses, type Refusal } from "./refusal.ts";

const tlsFiles = { ca: authority, cert: clientCertificate, key: clientKey, other: serverKey };

const tls: readonly Refusal[] = [
  {
    what: "a client certificate without its key",
    yaml: after(inSandbox, "    tls: { certFile: DIR/cert } # here"),
    path: "environments.sandbox.tls.keyFile",
    message: /no key/,
    fix: /keyFile/,
  },
  {
    what: "a client key without its certificate",
    yaml: after(inSandbox, "    tls: { keyFile: DIR/key } # here"),
    path: "environments.sandbox.tls.certFile",
    message: /no certificate/,
    fix: /certFile/,
  },
  {
    what: "a client key that is not the certificate's",
    yaml: after(inSandbox, "    tls: { certFile: DIR/cert, keyFile: DIR/other } # here"),
    path: "environments.sandbox.tls.keyFile",
    message: /not the certificate's/,
    fix: /certFile/,
  },
  {
    what: "an authority that is not PEM",
    yaml: after(inSandbox, "    tls: { caFile: DIR/k1 } # here"),
    path: "environments.sandbox.tls.caFile",
    message: /no certificate/,
    fix: /PEM/,
  },
  {
    what: "an authority with a damaged second certificate",
    yaml: after(inSandbox, "    tls: { caFile: DIR/ca } # here"),
    files: { ca: `${authority}${authority.replace("MIIB", "MIIX")}` },
    path: "environments.sandbox.tls.caFile",
    message: /damaged/,
    fix: /PEM/,
  },
  {
    what: "an authority whose first certificate has lost its end",
    yaml: after(inSandbox, "    tls: { caFile: DIR/ca } # here"),
    files: { ca: `${authority.replace(/-----END.*/, "")}${authority}` },
    path: "environments.sandbox.tls.caFile",
    message: /damaged/,
    fix: /PEM/,
  },
  {
    what: "a private key that does not parse",
    yaml: after(inSandbox, "    tls: { certFile: DIR/cert, keyFile: DIR/key } # here"),
    files: { key: clientKey.replace("MIGH", "MIGX") },
    path: "environments.sandbox.tls.keyFile",
    message: /no private key/,
    fix: /passphrase/,
  },
  {
    what: "a certificate that OpenSSL will not have",
    yaml: after(inSandbox, "    tls: { certFile: DIR/cert, keyFile: DIR/key } # here"),
    files: { cert: weakCertificate, key: weakKey },
    path: "environments.sandbox.tls.certFile",
    message: /OpenSSL/,
    fix: /too weak/,
  },
  {
    what: "a missing authority",
    yaml: after(inSandbox, "    tls: { caFile: DIR/nothing } # here"),
    path: "environments.sandbox.tls.caFile",
    message: /ENOENT/,
    fix: /create the file/,
  },
].map((refusal) => ({ ...refusal, files: { ...tlsFiles, ...refusal.files } }));

itRefuses("broken TLS files", tls);
