import * as z from "zod";
import {
  codec,
  durationWithin,
  mapping,
  matching,
  optional,
  plainName,
  printable,
  secretSource,
  text,
} from "./fields.ts";
import { tokenUrlForm } from "./values.ts";

const assertion = mapping("What an assertion says beside the client id (RFC 7523); for clientAuth private_key_jwt.", {
  audience: optional(printable).describe("`aud` of the assertion. Default: the token endpoint's address."),
  keyId: optional(printable).describe(
    "`kid`: what the server calls the key. Default: the one in the key's JWK, if any.",
  ),
  algorithm: optional(
    z.enum(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]),
  ).describe("JWS algorithm. Default: RS256, ES256, ES384, ES512 or EdDSA, as the key is."),
  certFile: optional(text).describe(
    "PEM file of the key's certificate, where the server knows keys by `x5t` and `x5t#S256` (Entra ID).",
  ),
});

const fileAssertion = mapping("A JWT of the platform's that is sent as the assertion, as it stands.", {
  file: text.describe("Path of its file, relative to the configuration file; read for each token request."),
});

/** How tokens are asked for; of an environment, and key by key of one credential set. */
export const tokenSettings = mapping(
  "How tokens are asked for, where that is not the service's own way (spec 4.2): see docs/authorization-servers.md. " +
    "A credential set's own `token` replaces these key by key.",
  {
    url: optional(codec(tokenUrlForm, "https://login.example/oauth2/token")).describe(
      "Address of the token endpoint, instead of authUrl. Never the baseUrl's origin.",
    ),
    clientAuth: optional(
      z.union([z.enum(["post", "basic", "private_key_jwt", "tls"]), z.strictObject({ assertion: fileAssertion })], {
        error: "write post or basic or private_key_jwt or tls, or { assertion: { file: /path } }",
      }),
    ).describe(
      "How the client proves itself: `post` (client id and secret in the body), `basic` (RFC 6749 section 2.3.1), " +
        "`private_key_jwt` (RFC 7523; the set has a privateKey), `tls` (RFC 8705; the environment's `tls.certFile`) or " +
        "`{ assertion: { file: … } }` (RFC 7523; a token that the platform renews). Default: post.",
    ),
    body: optional(z.enum(["form", "json"])).describe("How the request's fields are written. Default: form."),
    audience: optional(printable).describe(
      "Value to send as audience, for sets that have none of their own. With `url` it may be left out.",
    ),
    scope: optional(
      matching(
        /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
        "write scopes with one space between them (RFC 6749 section 3.3)",
      ),
    ).describe("Scopes to ask for, with a space between them (RFC 6749 section 3.3)."),
    resource: optional(printable).describe("Resource to ask for (RFC 8707)."),
    extra: optional(
      z.record(
        matching(/^[A-Za-z0-9._:-]{1,64}$/, "write the name of a field, of A-Z a-z 0-9 . _ : -"),
        matching(/^[\x20-\x7e]+$/, "write one line of printable text"),
      ),
    ).describe("Further fields of the token request, by their names. No secret stands here: it would be shown."),
    lifetime: optional(durationWithin(60_000, 604_800_000, "1h")).describe(
      "How long a token lives whose response has no `expires_in` (RFC 6749 section 5.1); 60s to 168h. Default: 300s.",
    ),
    assertion: assertion.optional(),
  },
);

export type RawTokenSettings = z.output<typeof tokenSettings>;

const setName = plainName.describe("Name of the set; `<site>/<name>` labels it in logs and metrics.");

export const credentialSet = z
  .union([
    z.strictObject({
      name: setName,
      dir: text.describe(
        "Folder with the files client-id, client-secret (with private_key_jwt: private-key) and audience.",
      ),
      token: tokenSettings.optional(),
    }),
    z.strictObject({
      name: setName,
      clientId: printable.describe("Client ID (spec 2.3)."),
      clientSecret: optional(secretSource).describe(
        "Where the Client Secret is (spec 2.3). For clientAuth post and basic.",
      ),
      audience: optional(printable).describe(
        "Value to send as audience when requesting a token (spec 2.3). With `token.url` it may be left out.",
      ),
      privateKey: optional(secretSource).describe(
        "Where the client's private key is (PEM, or a JWK). For private_key_jwt.",
      ),
      token: tokenSettings.optional(),
    }),
  ])
  .describe("One OAuth credential set (spec 2.3): `name` and `dir`, or everything written here but the secret.");

export type RawCredentialSet = z.output<typeof credentialSet>;
