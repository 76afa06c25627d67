import { createHash, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { type Address, type AssertionAuth, type ClientAuth, type Tls, tokenPath } from "../../model/environment.ts";
import type { Secret } from "../../model/secret.ts";
import { missingSecret } from "../form/check-form.ts";
import type { RawCredentialSet, RawTokenSettings } from "../form/credentials.ts";
import type { RawEnvironment } from "../form/environment.ts";
import type { SecretSource } from "../form/fields.ts";
import type { LoadContext } from "./load-context.ts";
import { loadCertificates } from "./tls.ts";

/** The settings of an environment for all of its credential sets. */
export type EnvironmentSettings = Pick<RawEnvironment, "baseUrl" | "authUrl" | "allowPlaintext" | "token"> & {
  readonly tls: Tls;
};

/** Fields that Countersign writes itself. */
const ownFields = ["grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type"];
/** Fields that have a setting of their own. */
const fieldsWithSetting = ["audience", "scope", "resource"];

/**
 * Reports settings with which no token request could succeed.
 * @param context of the environment's or of a credential set's `token`
 */
export function checkTokenSettings(
  raw: RawTokenSettings,
  environment: EnvironmentSettings,
  context: LoadContext,
): void {
  if (raw.url !== undefined) {
    // Several environments may have their clients at one authorization server.
    context.in("url").addUniqueValue("token endpoint", raw.url.origin);
    const atUrl = context.in("url");
    if (raw.url.origin === environment.baseUrl.origin) {
      const fix = "correct it, unless the API's own application issues its tokens";
      atUrl.warn("tokens_from_the_api", "token.url has the origin of baseUrl", fix);
    }
    checkPlaintext(raw.url, environment.allowPlaintext, atUrl);
  }
  const { clientAuth, url } = { ...environment.token, ...raw };
  const atClientAuth = context.in("clientAuth");
  if (typeof raw.clientAuth === "object") {
    const file = context.absolute(raw.clientAuth.assertion.file);
    atClientAuth.in("assertion", "file").warnOfMount(file, file);
  }
  if (raw.clientAuth === "tls" && environment.tls.cert === undefined) {
    const fix = "add certFile and keyFile to the environment's tls, or choose another clientAuth";
    atClientAuth.report("clientAuth tls needs the environment's client certificate", fix);
  } else if (clientAuth === "tls" && (url ?? environment.authUrl)?.scheme === "http") {
    atClientAuth.report("http:// shows no client certificate", "use https://, or another clientAuth");
  }
  for (const key of ["assertion", "issuer"] as const) {
    if (raw[key] === undefined || clientAuth === "private_key_jwt") continue;
    const fix = "remove it, or write clientAuth: private_key_jwt";
    context.in(key).report(`${key} is for clientAuth private_key_jwt alone`, fix);
  }
  for (const name of Object.keys(raw.extra ?? {})) {
    const hasSetting = fieldsWithSetting.includes(name);
    if (!hasSetting && !ownFields.includes(name)) continue;
    const fix = hasSetting ? `write token.${name}` : "remove it";
    context.in("extra", name).report(`${name} is not among the further fields`, fix, "hidden");
  }
}

export function checkPlaintext({ scheme }: Address, isAllowed: boolean, context: LoadContext): void {
  if (scheme === "https" || isAllowed) return;
  context.report("http:// would send credentials in plain text", "use https://, or allowPlaintext: true for tests");
}

/** A credential set with the values of its folder in place of `dir`. */
export type WrittenSet = Omit<Exclude<RawCredentialSet, { dir: string }>, "clientId"> & {
  /** Undefined if it cannot be read. */
  readonly clientId: string | undefined;
};

export function methodOf({ clientAuth = "post" }: RawTokenSettings): ClientAuth["method"] {
  return typeof clientAuth === "object" ? "assertion" : clientAuth;
}

/** The key of a credential set that names the source of its secret, by method. */
export const needs = {
  post: "clientSecret",
  basic: "clientSecret",
  basic_raw: "clientSecret",
  private_key_jwt: "privateKey",
  tls: undefined,
  assertion: undefined,
} as const;
/** Both jose and RFC 7518 section 3.3 demand it. */
const leastRsaBits = 2_048;
const curves: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

/**
 * Loads the proof of a credential set's client, as `clientAuth` demands: a secret, a key, the path of the platform's token, or
 * nothing beside the environment's certificate.
 * @param locate returns the context of a key of the set
 */
export async function loadClientAuth(
  raw: WrittenSet,
  settings: RawTokenSettings,
  environment: EnvironmentSettings,
  locate: (key: string) => LoadContext,
): Promise<{ readonly clientAuth: ClientAuth; readonly clientSecret?: Secret } | undefined> {
  const method = methodOf(settings);
  // A secret that is never used is an error: it was meant for something.
  for (const key of ["clientSecret", "privateKey"] as const) {
    if (raw[key] === undefined || key === needs[method]) continue;
    const fits = key === "privateKey" ? "private_key_jwt" : "post, basic or basic_raw";
    const fix = `remove it, or write clientAuth ${fits}`;
    locate(key).report(`${key} does not go with clientAuth ${method}`, fix, "hidden");
  }
  const { clientAuth: wanted = "post" } = settings;
  if (typeof wanted === "object") {
    // The file is not read here: it comes and goes without a change of the configuration.
    const { file, type = "jwt-bearer" } = wanted.assertion;
    return { clientAuth: { method: "assertion", file: locate("token").absolute(file), type } };
  }
  if (wanted === "tls") {
    return environment.tls.cert === undefined ? undefined : { clientAuth: { method: wanted } };
  }
  if (wanted === "basic_raw" && raw.clientId?.includes(":")) {
    // RFC 7617 section 2.
    const fix = "write clientAuth: basic, or give the client another id";
    locate("clientId").report("HTTP Basic ends a client id at its first colon", fix);
  }
  const key = needs[wanted];
  const [source, at] = [raw[key], locate(key)];
  if (source === undefined) {
    const { message, fix } = missingSecret(key);
    return at.report(message, fix);
  }
  if (wanted === "private_key_jwt") {
    const clientAuth = await loadAssertionAuth(source, settings, environment, at);
    return clientAuth && { clientAuth };
  }
  const clientSecret = await at.loadSecret(source);
  return clientSecret && { clientAuth: { method: wanted }, clientSecret };
}

async function loadAssertionAuth(
  source: SecretSource,
  { assertion = {}, issuer, url }: RawTokenSettings,
  { authUrl }: EnvironmentSettings,
  context: LoadContext,
): Promise<AssertionAuth | undefined> {
  const content = await context.readSecret(source, "lines");
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
    type: assertion.typ ?? "JWT",
    audience: assertion.audience ?? issuer ?? `${endpoint?.origin}${endpoint?.path}`,
  };
}

/** The errors of OpenSSL and JSON are dropped: they may show a part of the key. */
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

/** JWS algorithms (RFC 7518 section 3.1, RFC 8037) that a key can do, the usual one first; none for a weak key or another kind. */
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
