import { X509Certificate } from "node:crypto";
import type { CredentialSet, Credentials, Tls, TokenSettings } from "../../model/environment.ts";
import { identityOf } from "../../model/token-settings.ts";
import type { RawCredentialSet } from "../environment-schema.ts";
import { fingerprint } from "../hash.ts";
import type { LoadContext } from "../load-context.ts";
import { repeats } from "../uniqueness.ts";
import { loadClientAuth } from "./client-auth.ts";
import type { RawTokenSettings } from "./token-settings.ts";
import { checkTokenSettings, type EnvironmentSettings } from "./token-settings.ts";

/** Spec 2.3. */
const mostSets = 2;

/** Loads the OAuth credential sets configured at a site; undefined where none of them is sound. */
export async function loadCredentials(
  owner: string,
  raw: readonly RawCredentialSet[],
  environment: EnvironmentSettings,
  context: LoadContext,
): Promise<Credentials | undefined> {
  if (raw.length > mostSets) {
    const message = "a site holds at most two credential sets (spec 2.3)";
    context.report(message, "remove the others", `${raw.length} sets`);
  }
  for (const [[, at]] of repeats([...context.each(raw)], ([{ name }]) => name)) {
    at.in("name").report("another set of the site has this name", "give each its own name");
  }
  const sets: CredentialSet[] = [];
  for (const [given, at] of context.each(raw)) {
    const set = await loadSet(given, owner, environment, at);
    if (set === undefined) continue;
    if (sets.some(({ clientId }) => clientId === set.clientId)) {
      const message = `both sets are of client ${set.clientId}: when the authorization server refuses it, the second cannot take over`;
      at.warn("client_twice", message, "generate a second set and put it here, or leave this one out");
    }
    sets.push(set);
  }
  const [first, ...rest] = sets;
  return first === undefined ? undefined : { owner, sets: [first, ...rest] };
}

async function loadSet(
  raw: RawCredentialSet,
  owner: string,
  environment: EnvironmentSettings,
  context: LoadContext,
): Promise<CredentialSet | undefined> {
  const isFolder = "dir" in raw;
  const at = (key: string) => context.in(isFolder ? "dir" : key);
  if (raw.token !== undefined) checkTokenSettings(raw.token, environment, context.in("token"));
  const settings = { ...environment.token, ...raw.token };
  const clientId = isFolder ? await at("dir").readText(`${raw.dir}/client-id`, "client id") : raw.clientId;
  const loaded = await loadClientAuth(raw, settings, environment, context);
  const audience = await loadAudience(raw, settings, context);
  if (clientId === undefined || loaded === undefined || audience === false) return undefined;
  const { clientSecret, clientAuth } = loaded;
  at("clientId").addUniqueValue("client id", clientId);
  if (clientSecret !== undefined) at("clientSecret").addUniqueValue("secret", clientSecret);
  if (clientAuth.method === "private_key_jwt") at("privateKey").addUniqueValue("secret", clientAuth.privateKey);
  const isOwnWay = environment.token === undefined && raw.token === undefined;
  const token: TokenSettings | undefined = isOwnWay
    ? undefined
    : {
        url: settings.url,
        clientAuth,
        body: settings.body ?? "form",
        scope: settings.scope,
        resource: settings.resource,
        extra: settings.extra ?? {},
        lifetimeMs: settings.lifetime,
        certificate: certificateFingerprint(environment.tls),
      };
  const set = { label: `${owner}/${raw.name}`, name: raw.name, clientId, clientSecret, audience, token };
  return shareLabel(set, context.state.clientLabels);
}

function certificateFingerprint({ cert }: Tls): string | undefined {
  return cert === undefined ? undefined : new X509Certificate(cert).fingerprint256;
}

/**
 * The set's own audience, else the one of its settings. The service's authorization server wants one (spec 4.2); with a
 * token endpoint of its own a set may have none.
 * @returns false where it is missing or unreadable, which is reported
 */
async function loadAudience(
  raw: RawCredentialSet,
  { audience, url }: RawTokenSettings,
  context: LoadContext,
): Promise<string | undefined | false> {
  const isOptional = audience !== undefined || url !== undefined;
  if ("dir" in raw) {
    const file = `${raw.dir}/audience`;
    const at = context.in("dir");
    if (isOptional && !(await at.hasFile(file))) return audience;
    return (await at.readText(file, "audience")) ?? false;
  }
  if (raw.audience !== undefined || isOptional) return raw.audience ?? audience;
  context.in("audience").report("audience is missing", "add a text");
  return false;
}

/**
 * A client that is configured at several sites is one to the authorization server, and has one token: its sets all have
 * the label of the first, so that metrics, logs and `/status` show one thing under one name.
 */
export function shareLabel(set: CredentialSet, labels: Map<string, string>): CredentialSet {
  const { clientId, audience, clientSecret, token } = set;
  const clientAuth = token?.clientAuth;
  const key = clientAuth?.method === "private_key_jwt" ? clientAuth.privateKey : undefined;
  const client = fingerprint([clientId, audience, clientSecret ?? key, token?.url, identityOf(token)]);
  const label = labels.get(client) ?? set.label;
  labels.set(client, label);
  return { ...set, label };
}
