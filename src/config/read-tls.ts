import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Tls } from "../model/environment.ts";
import type { Secret } from "../model/secret.ts";
import type { Reading } from "./load-context.ts";
import type { Path } from "./problem.ts";

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Paths of PEM files. */
export interface TlsFiles {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Reads what is trusted, and the certificate with its key: both or neither. */
export async function readTlsFiles(
  { caFile, certFile, keyFile }: TlsFiles,
  path: Path,
  reading: Reading,
): Promise<Tls> {
  const { findings } = reading;
  const at = (name: keyof TlsFiles): Path => [...path, name];
  if (certFile !== undefined && keyFile === undefined) {
    const fix = "add keyFile: /path, the certificate's private key";
    findings.conclude([at("keyFile")], at("keyFile"), "the certificate has no key", fix);
  }
  if (certFile === undefined && keyFile !== undefined) {
    const fix = "add certFile: /path, the key's certificate";
    findings.conclude([at("certFile")], at("certFile"), "the key has no certificate", fix);
  }
  const ca = caFile === undefined ? undefined : await readCertificates(caFile, at("caFile"), reading);
  const cert = certFile === undefined ? undefined : await readCertificates(certFile, at("certFile"), reading);
  const key = keyFile === undefined ? undefined : await readPrivateKey(keyFile, at("keyFile"), reading);
  if (cert !== undefined && key !== undefined && !belongTogether(cert, key)) {
    findings.refuse(at("keyFile"), "the key is not the certificate's", "give the key that certFile was made for");
  } else if (cert !== undefined && key !== undefined && !isAcceptable(ca, cert, key)) {
    findings.refuse(at("certFile"), "OpenSSL refuses the certificate", "use a key and a digest that are not too weak");
  }
  return { ca, cert, key };
}

function belongTogether(cert: string, key: Secret): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.key.export()));
}

/** OpenSSL has its own mind about keys that are too short and the like, and would say so at the first connection. */
function isAcceptable(ca: string | undefined, cert: string, key: Secret): boolean {
  return doesSucceed(() => createSecureContext({ ca, cert, key: key.reveal() }));
}

/** One or more certificates in PEM, every one of which parses. */
async function readCertificates(file: string, path: Path, { secrets, findings }: Reading): Promise<string | undefined> {
  const read = await secrets.file(file, path);
  if (read === undefined) return undefined;
  const text = read.bytes.toString("latin1");
  const blocks = text.match(pemCertificate) ?? [];
  if (blocks.length > 0 && blocks.every((pem) => doesSucceed(() => new X509Certificate(pem)))) return text;
  const message = "this file holds no certificate in PEM, or a damaged one";
  return findings.refuse(path, message, "give the path of a PEM file", read.origin);
}

/** A private key in PEM, without a passphrase. */
async function readPrivateKey(file: string, path: Path, { secrets, findings }: Reading): Promise<Secret | undefined> {
  const read = await secrets.secretFile(file, path);
  if (read === undefined) return undefined;
  if (doesSucceed(() => createPrivateKey(read.bytes))) return secrets.keep(read);
  const fix = "give the path of a PEM file without a passphrase";
  return findings.refuse(path, "this file holds no private key in PEM", fix, read.origin);
}

/** OpenSSL's errors tell a person nothing. */
function doesSucceed(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
