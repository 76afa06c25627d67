import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { AssertionAuth, ClientAuth } from "../../model/environment.ts";
import type { Secret } from "../../model/secret.ts";
import { tokenPath } from "../../model/token-settings.ts";
import type { RawCredentialSet } from "../environment-schema.ts";
import type { SecretSource } from "../fields.ts";
import type { LoadContext } from "../load-context.ts";
import { loadCertificates } from "../tls.ts";
import type { EnvironmentSettings, RawTokenSettings } from "./token-settings.ts";

/** What proves a client. */
interface LoadedClientAuth {
  readonly clientAuth: ClientAuth;
  readonly clientSecret: Secret | undefined;
}

const needs = { post: "clientSecret", basic: "clientSecret", private_key_jwt: "privateKey", tls: undefined } as const;
const fileNames = { clientSecret: "client-secret", privateKey: "private-key" } as const;
/** What jose takes, and what RFC 7518 section 3.3 asks for. */
const leastRsaBits = 2_048;
const curves: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

/**
 * Loads what a set proves its client with, as `clientAuth` wants it: a secret, a key, or nothing beside the environment's
 * certificate.
 * @param context of the credential set
 */
export async function loadClientAuth(
  raw: RawCredentialSet,
  settings: RawTokenSettings,
  environment: EnvironmentSettings,
  context: LoadContext,
): Promise<LoadedClientAuth | undefined> {
  const method = settings.clientAuth ?? "post";
  checkForOthers(raw, method, context);
  if (method === "tls") {
    return environment.tls.cert === undefined ? undefined : { clientAuth: { method }, clientSecret: undefined };
  }
  const key = needs[method];
  const source = "dir" in raw ? { file: `${raw.dir}/${fileNames[key]}` } : raw[key];
  const at = context.in("dir" in raw ? "dir" : key);
  if (source === undefined) {
    const fix = `say where it is: ${key}: { file: /path }, or second best { env: NAME }`;
    return at.report(`${key} is missing`, fix);
  }
  if (method === "private_key_jwt") {
    const clientAuth = await loadAssertionAuth(source, settings, environment, at);
    return clientAuth && { clientAuth, clientSecret: undefined };
  }
  const clientSecret = await at.loadSecret(source);
  return clientSecret && { clientAuth: { method }, clientSecret };
}

/** A secret that is never used is an error: it was meant for something. */
function checkForOthers(raw: RawCredentialSet, method: ClientAuth["method"], context: LoadContext): void {
  if ("dir" in raw) return;
  for (const key of ["clientSecret", "privateKey"] as const) {
    if (raw[key] === undefined || key === needs[method]) continue;
    const fits = key === "privateKey" ? "private_key_jwt" : "post or basic";
    const fix = `remove it, or write clientAuth ${fits}`;
    context.in(key).report(`${key} does not go with clientAuth ${method}`, fix, "hidden");
  }
}

async function loadAssertionAuth(
  source: SecretSource,
  { assertion = {}, url }: RawTokenSettings,
  { authUrl }: EnvironmentSettings,
  context: LoadContext,
): Promise<AssertionAuth | undefined> {
  const content = await context.readSecret(source);
  if (content === undefined) return undefined;
  const { origin } = content;
  const read = readKey(content.bytes);
  if (read === undefined) {
    const fix = "give a private key in PEM without a passphrase, or as a JWK";
    return context.report("this is no private key", fix, origin);
  }
  const { key, keyId } = read;
  const [algorithm, ...others] = algorithmsOf(key);
  if (algorithm === undefined) {
    const fix = `give an RSA key of ${leastRsaBits} bits or more, an EC key (P-256, P-384, P-521) or an Ed25519 key`;
    return context.report("no assertion can be signed with this key", fix, origin);
  }
  const wanted = assertion.algorithm ?? algorithm;
  if (wanted !== algorithm && !others.includes(wanted)) {
    const fix = `write ${[algorithm, ...others].join(" or ")}, or leave it out`;
    return context.report(`the key cannot sign with ${wanted}`, `assertion.algorithm: ${fix}`, origin);
  }
  const { certFile } = assertion;
  const thumbprints = certFile === undefined ? undefined : await loadThumbprints(certFile, key, context);
  const endpoint = url ?? (authUrl && { ...authUrl, path: `${authUrl.path}${tokenPath}` });
  const bytes = Buffer.from(key.export({ type: "pkcs8", format: "pem" }));
  return {
    method: "private_key_jwt",
    privateKey: context.makeSecret({ bytes, origin }),
    algorithm: wanted,
    keyId: assertion.keyId ?? keyId,
    thumbprints,
    audience: assertion.audience ?? `${endpoint?.origin}${endpoint?.path}`,
  };
}

/** OpenSSL's errors, and those of JSON, may show a part of the key. */
function readKey(bytes: Buffer): { readonly key: KeyObject; readonly keyId: string | undefined } | undefined {
  try {
    const text = bytes.toString("utf8").trim();
    if (!text.startsWith("{")) return { key: createPrivateKey(bytes), keyId: undefined };
    const jwk = JSON.parse(text);
    const key = createPrivateKey({ key: jwk, format: "jwk" });
    return { key, keyId: typeof jwk.kid === "string" ? jwk.kid : undefined };
  } catch {
    return undefined;
  }
}

/** JWS algorithms (RFC 7518 section 3.1, RFC 8037) that a key can do, the usual one first; none for keys of other kinds. */
function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string[] {
  if (type === "ed25519") return ["EdDSA"];
  if (type === "ec") return [curves[details?.namedCurve ?? ""] ?? []].flat();
  const isLongRsa = type === "rsa" && (details?.modulusLength ?? 0) >= leastRsaBits;
  return isLongRsa ? ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] : [];
}

async function loadThumbprints(certFile: string, key: KeyObject, context: LoadContext) {
  const pem = await loadCertificates(certFile, context);
  if (pem === undefined) return undefined;
  const certificate = new X509Certificate(pem);
  if (!certificate.checkPrivateKey(key)) {
    return context.report("the key is not the certificate's", "give the key that assertion.certFile was made for");
  }
  const digest = (name: string) => createHash(name).update(certificate.raw).digest("base64url");
  return { sha1: digest("sha1"), sha256: digest("sha256") };
}
