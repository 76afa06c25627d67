import { X509Certificate } from "node:crypto";
import {
  type ClientAuth,
  type CredentialSet,
  type Credentials,
  identityOf,
  type TokenSettings,
} from "../../model/environment.ts";
import { missing } from "../form/check-form.ts";
import type { RawCredentialSet, RawTokenSettings } from "../form/credentials.ts";
import { clientIdPattern } from "../form/fields.ts";
import { fingerprint } from "../hash.ts";
import type { LoadContext } from "./load-context.ts";
import {
  checkTokenSettings,
  type EnvironmentSettings,
  loadClientAuth,
  methodOf,
  needs,
  type WrittenSet,
} from "./token-settings.ts";
import { repeats } from "./uniqueness.ts";

/** Spec 2.3. */
const mostSets = 2;
/** Names of files in a set's folder. */
const fileNames = { clientSecret: "client-secret", privateKey: "private-key" } as const;

/** As the examples have it, and other programs'. */
const placeholder = /^(<.+>|\$\w+|(YOUR_)?CLIENT_ID|CHANGE_?ME)$/;

/** Loads the OAuth credential sets configured at a site; undefined if none of them is sound. */
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
    const loaded = await loadSet(given, owner, environment, at);
    if (loaded === undefined) continue;
    const set = shareLabel(loaded, context.state.clientLabels);
    const { clientId, clientSecret: secret } = set;
    const hasSameSecret = (other: CredentialSet) => secret !== undefined && other.clientSecret?.equals(secret);
    if (sets.some(({ label }) => label === set.label)) {
      const message = "this set is the same client as the other: when one is refused, so is the other";
      at.warn("credential_sets_same", message, "give the second set of the portal, or remove this one");
    } else if (sets.some((other) => other.clientId !== clientId && hasSameSecret(other))) {
      const message = "this set has the other's secret, and the two are different clients";
      at.warn("credential_sets_same", message, "name the secret of this client");
    }
    sets.push(set);
  }
  const [first, ...rest] = sets;
  return first === undefined ? undefined : { owner, sets: [first, ...rest] };
}

async function loadSet(
  given: RawCredentialSet,
  owner: string,
  environment: EnvironmentSettings,
  context: LoadContext,
): Promise<CredentialSet | undefined> {
  if (given.token !== undefined) checkTokenSettings(given.token, environment, context.in("token"));
  const settings = { ...environment.token, ...given.token };
  const locate = (key: string) => context.in("dir" in given ? "dir" : key);
  // The service's authorization server demands an audience (spec 4.2).
  const needsAudience = settings.audience === undefined && settings.url === undefined;
  const written = "dir" in given ? await writeOut(given, settings, needsAudience, locate("dir")) : given;
  if (needsAudience && !("dir" in given) && given.audience === undefined) {
    const { message, fix } = missing([...context.path, "audience"]);
    context.in("audience").report(message, fix);
  }
  const { name, clientId, audience = settings.audience } = written;
  const loaded = await loadClientAuth(written, settings, environment, locate);
  if (clientId === undefined || loaded === undefined) return undefined;
  const { clientSecret, clientAuth } = loaded;
  if (placeholder.test(clientId)) {
    const fix = "write the portal's, and see whether the addresses are the portal's";
    locate("clientId").warn("placeholder_left", `the client id is a placeholder, ${clientId}`, fix);
  }
  locate("clientId").addUniqueValue("client id", clientId);
  if (clientSecret !== undefined) locate("clientSecret").addUniqueValue("secret", clientSecret);
  if (clientAuth.method === "private_key_jwt") locate("privateKey").addUniqueValue("secret", clientAuth.privateKey);
  const { cert } = environment.tls;
  const isOwnWay = environment.token === undefined && given.token === undefined;
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
        certificate: cert && new X509Certificate(cert).fingerprint256,
      };
  // A copy, since a part of a file's text would keep the whole text.
  const own = audience && Buffer.from(audience).toString();
  return { label: `${owner}/${name}`, name, clientId, clientSecret, audience: own, token };
}

/** A set with the values of its folder in place of `dir`. A value that cannot be read is reported, and left out. */
async function writeOut(
  { dir, ...set }: Extract<RawCredentialSet, { dir: string }>,
  settings: RawTokenSettings,
  needsAudience: boolean,
  context: LoadContext,
): Promise<WrittenSet> {
  const clientId = await context.readText(`${dir}/client-id`, "client id", clientIdPattern);
  const file = `${dir}/audience`;
  const hasOwn = needsAudience || (await context.hasFile(file));
  const audience = hasOwn ? await context.readText(file, "audience") : settings.audience;
  return { ...set, clientId, audience, ...proofIn(dir, methodOf(settings)) };
}

/** The source of the secret that a set's folder has for this method of its client; nothing for a method without one. */
function proofIn(dir: string, method: ClientAuth["method"]): Pick<WrittenSet, "clientSecret" | "privateKey"> {
  const key = needs[method];
  return key === undefined ? {} : { [key]: { file: `${dir}/${fileNames[key]}` } };
}

/** The set as it would be written without `dir`, with the values that were read from its folder. */
export function spellOut(written: RawCredentialSet, { clientId, audience, token }: CredentialSet): RawCredentialSet {
  if (!("dir" in written)) return written;
  const { dir, ...set } = written;
  return { ...set, clientId, audience, ...proofIn(dir, token?.clientAuth.method ?? "post") };
}

/**
 * A client that is configured at several sites is one client to the authorization server, and has one token. So all its sets
 * have the label of the first set: metrics, logs and `/status` then show the client under one name.
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
