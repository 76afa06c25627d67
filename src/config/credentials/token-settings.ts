import * as z from "zod";
import type { Address, Tls } from "../../model/environment.ts";
import { durationWithin, mapping, matching, parsed, printable, text } from "../fields.ts";
import type { LoadContext } from "../load-context.ts";
import { readTokenUrl, tokenUrlPattern } from "../values.ts";

const printableText = (fix: string) => matching(/^[\x20-\x7e]+$/, fix);

const assertion = mapping("What an assertion says beside the client id (RFC 7523); for clientAuth private_key_jwt.", {
  audience: printable.optional().describe("`aud` of the assertion. Default: the token endpoint's address."),
  keyId: printable
    .optional()
    .describe("`kid`: what the server calls the key. Default: the one in the key's JWK, if any."),
  algorithm: z
    .enum(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"])
    .optional()
    .describe("JWS algorithm. Default: RS256, ES256, ES384, ES512 or EdDSA, as the key is."),
  certFile: text
    .optional()
    .describe("PEM file of the key's certificate, where the server knows keys by `x5t` and `x5t#S256` (Entra ID)."),
});

/** How tokens are asked for; of an environment, and key by key of one credential set. */
export const tokenSettings = mapping(
  "How tokens are asked for, where that is not the service's own way (spec 4.2): see docs/authorization-servers.md. " +
    "A credential set's own `token` replaces these key by key.",
  {
    url: parsed(readTokenUrl, { pattern: tokenUrlPattern, example: "https://login.example/oauth2/token" })
      .optional()
      .describe("Address of the token endpoint, instead of authUrl. Never the baseUrl's origin."),
    clientAuth: z
      .enum(["post", "basic", "private_key_jwt", "tls"])
      .optional()
      .describe(
        "How the client proves itself: `post` (client id and secret in the body), `basic` (RFC 6749 section 2.3.1), " +
          "`private_key_jwt` (RFC 7523; the set has a privateKey) or `tls` (RFC 8705; the environment's `tls.certFile`). Default: post.",
      ),
    body: z.enum(["form", "json"]).optional().describe("How the request's fields are written. Default: form."),
    audience: printable
      .optional()
      .describe("Value to send as audience, for sets that have none of their own. With `url` it may be left out."),
    scope: matching(
      /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
      "write scopes with one space between them (RFC 6749 section 3.3)",
    )
      .optional()
      .describe("Scopes to ask for, with a space between them (RFC 6749 section 3.3)."),
    resource: printable.optional().describe("Resource to ask for (RFC 8707)."),
    extra: z
      .record(
        matching(/^[A-Za-z0-9._:-]{1,64}$/, "write the name of a field, of A-Z a-z 0-9 . _ : -"),
        printableText("write one line of printable text"),
      )
      .optional()
      .describe("Further fields of the token request, by their names. No secret stands here: it would be shown."),
    lifetime: durationWithin(60_000, 604_800_000, "1h")
      .optional()
      .describe(
        "How long a token lives whose response has no `expires_in` (RFC 6749 section 5.1); 60s to 168h. Default: 300s.",
      ),
    assertion: assertion.optional(),
  },
);

export type RawTokenSettings = z.output<typeof tokenSettings>;

/** What an environment says for all of its credential sets. */
export interface EnvironmentSettings {
  readonly baseUrl: Address;
  readonly authUrl?: Address | undefined;
  readonly allowPlaintext: boolean;
  readonly token?: RawTokenSettings | undefined;
  readonly tls: Tls;
}

/** Fields that Countersign writes itself, or that have a setting of their own. */
const ownFields: ReadonlySet<string> = new Set([
  ...["grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type"],
  ...["audience", "scope", "resource"],
]);

/**
 * Reports what no token endpoint could do with these settings.
 * @param context of the environment's or of a credential set's `token`
 */
export function checkTokenSettings(
  raw: RawTokenSettings,
  environment: EnvironmentSettings,
  context: LoadContext,
): void {
  checkUrl(raw, environment, context.in("url"));
  const { clientAuth, url } = { ...environment.token, ...raw };
  const atClientAuth = context.in("clientAuth");
  if (raw.clientAuth === "tls" && environment.tls.cert === undefined) {
    const fix = "add certFile and keyFile to the environment's tls, or choose another clientAuth";
    atClientAuth.report("clientAuth tls needs the environment's client certificate", fix);
  } else if (clientAuth === "tls" && (url ?? environment.authUrl)?.scheme === "http") {
    atClientAuth.report("http:// shows no client certificate", "use https://, or another clientAuth");
  }
  if (raw.assertion !== undefined && clientAuth !== "private_key_jwt") {
    context.in("assertion").report("assertion is for clientAuth private_key_jwt alone", "remove it, or write that");
  }
  for (const name of Object.keys(raw.extra ?? {})) {
    if (!ownFields.has(name)) continue;
    const fix = name === "audience" || name === "scope" || name === "resource" ? `write token.${name}` : "remove it";
    context.in("extra", name).report(`${name} is not among the further fields`, fix, "hidden");
  }
}

/** As for authUrl, but that several environments may have their clients at one authorization server. */
function checkUrl(
  { url }: RawTokenSettings,
  { baseUrl, allowPlaintext }: EnvironmentSettings,
  context: LoadContext,
): void {
  if (url === undefined) return;
  if (url.origin === baseUrl.origin) {
    const fix = "give the authorization server; it is another host than the JSON API (spec 4.2)";
    context.report("baseUrl and token.url have the same origin", fix);
  }
  context.addUniqueValue("token endpoint", url.origin);
  checkPlaintext(url, allowPlaintext, context);
}

export function checkPlaintext({ scheme }: Address, isAllowed: boolean, context: LoadContext): void {
  if (scheme === "https" || isAllowed) return;
  context.report("http:// would send credentials in plain text", "use https://, or allowPlaintext: true for tests");
}
