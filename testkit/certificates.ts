/**
 * Certificates for tests only; their keys are public in this repository. Made once with OpenSSL (P-256, 2020 to 2120):
 * `openssl ca -selfsign` for the authority, `openssl ca -startdate … -enddate …` for the certificates that it signed.
 */
import { readFileSync } from "node:fs";
import type { Tls } from "../src/model/environment.ts";

const pem = (name: string) => readFileSync(new URL(`certificates/${name}.pem`, import.meta.url), "utf8");

/** A private certificate authority, which no trust store contains. */
export const authority = pem("authority");

/** The key of all the server certificates. */
export const serverKey = pem("server-key");

/** For localhost and 127.0.0.1, signed by the authority. */
export const serverCertificate = pem("server-certificate");

/** TLS options of a server on localhost. */
export const serverTls = { key: serverKey, cert: serverCertificate };

/** An environment that trusts the default authorities: those of the system, or that of the tests. */
export const noTls: Tls = { ca: undefined, cert: undefined, key: undefined };
export const trusting: Tls = { ...noTls, ca: authority };

/** For localhost and 127.0.0.1, signed by the authority, but valid only until 2020-01-02. */
export const expiredCertificate = pem("expired-certificate");

/** For elsewhere.example, signed by the authority. */
export const foreignCertificate = pem("foreign-certificate");

/** The key with which a client proves itself if a server demands a certificate. */
export const clientKey = pem("client-key");

/** Signed by the authority, for client authentication. */
export const clientCertificate = pem("client-certificate");

/** Self-signed, with an RSA key of 512 bits, which OpenSSL refuses. */
export const weakCertificate = pem("weak-certificate");

export const weakKey = pem("weak-key");

/** Self-signed, with a subject that would break a log: a line end, an escape sequence, a quote, and more than 256 characters. */
export const hostileCertificate = pem("hostile-certificate");

export const hostileKey = pem("hostile-key");

/** An RSA key of 2048 bits, which signs assertions. */
export const rsaKey = pem("rsa-key");

/** Self-signed, with that RSA key. */
export const rsaCertificate = pem("rsa-certificate");
