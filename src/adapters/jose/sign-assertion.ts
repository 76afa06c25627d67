import { createPrivateKey, type KeyObject, randomUUID } from "node:crypto";
import type { Secret } from "../../model/secret.ts";
import { notSigned, type TokenEndpoint } from "../../oauth/token-endpoint.ts";

/** Parsed keys, each kept while a configuration with it is in use. */
const keys = new WeakMap<Secret, KeyObject>();

/** Signs client assertions (RFC 7523) as JWTs. The package is loaded with the first assertion: most configurations need none. */
export const signAssertion: TokenEndpoint["sign"] = async (claims, by) => {
  const { algorithm, type, keyId, thumbprints, privateKey } = by;
  try {
    const { SignJWT } = await import("jose");
    const header = {
      alg: algorithm,
      typ: type,
      ...(keyId === undefined ? {} : { kid: keyId }),
      ...(thumbprints && { x5t: thumbprints.sha1, "x5t#S256": thumbprints.sha256 }),
    };
    return await new SignJWT({ ...claims, jti: randomUUID() }).setProtectedHeader(header).sign(keyOf(privateKey));
  } catch {
    // The error's text may reveal something of the key.
    return { kind: "failed", cause: notSigned };
  }
};

function keyOf(privateKey: Secret): KeyObject {
  const key = keys.get(privateKey) ?? createPrivateKey(privateKey.key.export());
  keys.set(privateKey, key);
  return key;
}
