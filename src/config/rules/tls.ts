import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { splitCertificates, type Tls } from "../../model/environment.ts";
import type { CallersTls } from "../../model/listener.ts";
import type { Secret } from "../../model/secret.ts";
import type { TlsFiles } from "../form/fields.ts";
import type { LoadContext } from "./load-context.ts";

/** Loads the trusted authorities, and the certificate with its key: both or neither. */
export async function loadTls({ caFile, certFile, keyFile }: TlsFiles, context: LoadContext): Promise<Tls> {
  const [atCert, atKey] = [context.in("certFile"), context.in("keyFile")];
  if (certFile !== undefined && keyFile === undefined) {
    atKey.report("the certificate has no key", "add keyFile: /path, the certificate's private key");
  }
  if (certFile === undefined && keyFile !== undefined) {
    atCert.report("the key has no certificate", "add certFile: /path, the key's certificate");
  }
  const ca = caFile === undefined ? undefined : await loadCertificates(caFile, context.in("caFile"));
  const cert = certFile === undefined ? undefined : await loadCertificates(certFile, atCert);
  const key = keyFile === undefined ? undefined : await loadPrivateKey(keyFile, atKey);
  if (cert === undefined || key === undefined) return { ca, cert, key };
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.key.export()))) {
    atKey.report("the key is not the certificate's", "give the key that certFile was made for");
  } else if (attempt(() => createSecureContext({ ca, cert, key: key.reveal() })) === undefined) {
    // OpenSSL has rules of its own, such as for short keys, and would refuse at the first connection.
    atCert.report("OpenSSL refuses the certificate", "use a key and a digest that are not too weak");
  }
  return { ca, cert, key };
}

/** Loads the files of a listener, which needs all three; undefined if one is not sound. */
export async function loadCallersTls(files: Required<TlsFiles>, context: LoadContext): Promise<CallersTls | undefined> {
  const { ca, cert, key } = await loadTls(files, context);
  return ca === undefined || cert === undefined || key === undefined ? undefined : { ca, cert, key };
}

/** One or more certificates in PEM, every one of which parses. A private key in the same file is left out. */
export async function loadCertificates(file: string, context: LoadContext): Promise<string | undefined> {
  const content = await context.readFile(file);
  if (content === undefined) return undefined;
  const blocks = splitCertificates(content.bytes.toString("latin1"));
  const certificates = attempt(() => blocks.map((pem) => new X509Certificate(pem).toString()).join(""));
  if (certificates) return certificates;
  const message = "this file holds no certificate in PEM, or a damaged one";
  return context.report(message, "give the path of a PEM file", content.origin);
}

/** A private key in PEM, without a passphrase. */
async function loadPrivateKey(file: string, context: LoadContext): Promise<Secret | undefined> {
  const content = await context.readSecretFile(file);
  if (content === undefined) return undefined;
  if (attempt(() => createPrivateKey(content.bytes))) return context.makeSecret(content);
  const fix = "give the path of a PEM file without a passphrase";
  const isEncrypted = content.bytes.includes("ENCRYPTED");
  const message = isEncrypted ? "the private key has a passphrase" : "this file holds no private key in PEM";
  return context.report(message, fix, content.origin);
}

/** Undefined if it throws: OpenSSL's own error texts help no reader. */
function attempt<Result>(make: () => Result): Result | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
