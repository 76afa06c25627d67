import type { Address, Tls } from "../../model/environment.ts";
import type { LoadContext } from "../load-context.ts";
import type { RawTokenSettings } from "./token-schema.ts";

/** What an environment says for all of its credential sets. */
export interface EnvironmentSettings {
  readonly baseUrl: Address;
  readonly authUrl: Address | undefined;
  readonly allowPlaintext: boolean;
  readonly token: RawTokenSettings | undefined;
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
  if (url.scheme === "https" || allowPlaintext) return;
  context.report("http:// would send credentials in plain text", "use https://, or allowPlaintext: true for tests");
}
