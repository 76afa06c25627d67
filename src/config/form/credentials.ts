import * as z from "zod";
import {
  audience,
  clientIdForm,
  codec,
  durationWithin,
  mapping,
  matching,
  optional,
  pathLike,
  plainName,
  printable,
  secretSource,
} from "./fields.ts";
import { tokenUrlForm } from "./values.ts";

const assertion = mapping("Contents of an assertion beside the client id (RFC 7523); for clientAuth private_key_jwt.", {
  audience: optional(audience).describe(
    "`aud` of the assertion. Default: `token.issuer`, else the token endpoint's address.",
  ),
  typ: optional(matching(/^[\w!#$&^.+/-]{1,128}$/, "write a media type", "client-authentication+jwt")).describe(
    "`typ` in its header. Servers that follow the update of RFC 7523 may demand `client-authentication+jwt`. Default: JWT.",
  ),
  keyId: optional(printable).describe(
    "`kid`: the server's name for the key. Default: the `kid` in the key's JWK, if any.",
  ),
  algorithm: optional(
    z.enum(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]),
  ).describe("JWS algorithm. Default: RS256, ES256, ES384, ES512 or EdDSA, by the kind of key."),
  certFile: optional(pathLike("cert.pem")).describe(
    "PEM file of the key's certificate, if the server identifies keys by `x5t` and `x5t#S256` (Entra ID).",
  ),
});

const fileAssertion = mapping("A JWT of the platform that is sent unchanged as the assertion.", {
  file: pathLike("/path").describe(
    "Path of the JWT's file, relative to the configuration file; read for each token request.",
  ),
  type: optional(z.enum(["jwt-bearer", "jwt-spiffe"])).describe(
    "Which JWT it is, the end of `client_assertion_type`: jwt-bearer (RFC 7523), or jwt-spiffe, a JWT-SVID " +
      "(draft-ietf-oauth-spiffe-client-auth). Default: jwt-bearer.",
  ),
});

/** How tokens are requested, for an environment; one credential set can replace single keys. */
export const tokenSettings = mapping(
  "How tokens are requested, if not in the service's own way (spec 4.2): see docs/authorization-servers.md. " +
    "A credential set's own `token` replaces single keys of this one.",
  {
    url: optional(codec(tokenUrlForm, "https://login.example/oauth2/token")).describe(
      "Address of the token endpoint, instead of authUrl; it may have a query (RFC 6749 section 3.2).",
    ),
    issuer: optional(
      matching(
        /^https?:\/\/[\x21\x22\x24-\x3e\x40-\x7e]+$/,
        "write the `issuer` of the server's metadata (RFC 8414), letter for letter",
        "https://login.example",
      ),
    ).describe(
      "The authorization server's issuer: the only audience of a `private_key_jwt` assertion, as FAPI 2.0 and the update of " +
        "RFC 7523 demand.",
    ),
    clientAuth: optional(
      z.union(
        [
          z.enum(["post", "basic", "basic_raw", "private_key_jwt", "tls"]),
          z.strictObject({ assertion: fileAssertion }),
        ],
        { error: "write post or basic or basic_raw or private_key_jwt or tls, or { assertion: { file: /path } }" },
      ),
    ).describe(
      "How the client proves itself: `post` (client id and secret in the body), `basic` (RFC 6749 section 2.3.1), " +
        "`basic_raw` (RFC 7617, for servers that take both as they are), " +
        "`private_key_jwt` (RFC 7523; the set has a privateKey), `tls` (RFC 8705; the environment's `tls.certFile`) or " +
        "`{ assertion: { file: … } }` (RFC 7523; a token that the platform renews). Default: post.",
    ),
    body: optional(z.enum(["form", "json"])).describe("How the request's fields are written. Default: form."),
    audience: optional(audience).describe(
      "Value to send as audience, for credential sets without their own `audience`. With `url` no audience is needed.",
    ),
    scope: optional(
      matching(
        /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
        "write scopes with one space between them (RFC 6749 section 3.3)",
        "orders.read orders.write",
      ),
    ).describe("Scopes to request, with a space between them (RFC 6749 section 3.3)."),
    resource: optional(printable).describe("Resource to request (RFC 8707)."),
    extra: optional(
      z.record(
        matching(/^[A-Za-z0-9._:-]{1,64}$/, "write the name of a field, of A-Z a-z 0-9 . _ : -", "tenant"),
        matching(/^[\x20-\x7e]+$/, "write one line of printable text", "shop"),
      ),
    ).describe("Further fields of the token request, by their names. Put no secret here: /status shows it."),
    lifetime: optional(durationWithin(60_000, 604_800_000, "1h")).describe(
      "How long a token is valid if its response has no `expires_in` (RFC 6749 section 5.1); 60s to 168h. Default: 300s.",
    ),
    assertion: assertion.optional(),
  },
);

export type RawTokenSettings = z.output<typeof tokenSettings>;

const setName = plainName("blue").describe("Name of the set; `<site>/<name>` labels it in logs and metrics.");

export const credentialSet = z
  .union([
    z.strictObject({
      name: setName,
      dir: pathLike("secrets/blue").describe(
        "Folder with the files client-id, client-secret (with private_key_jwt: private-key) and audience.",
      ),
      token: tokenSettings.optional(),
    }),
    z.strictObject({
      name: setName,
      clientId: clientIdForm.describe("Client ID (spec 2.3)."),
      clientSecret: optional(secretSource).describe(
        "Where the Client Secret is (spec 2.3). For clientAuth post, basic and basic_raw.",
      ),
      audience: optional(audience).describe(
        "Value to send as audience when requesting a token (spec 2.3). With `token.url` it may be left out.",
      ),
      privateKey: optional(secretSource).describe(
        "Where the client's private key is (PEM, or a JWK). For private_key_jwt.",
      ),
      token: tokenSettings.optional(),
    }),
  ])
  .describe("One OAuth credential set (spec 2.3): `name` and `dir`, or each value in a key of its own.");

export type RawCredentialSet = z.output<typeof credentialSet>;
