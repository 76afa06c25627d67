import { credentialSetsOf, type Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { type Secret, SecretLookup } from "../model/secret.ts";
import type { Parameters } from "./parameters.ts";

/** One of the service's samples skips it where it signs (spec 5.2 step 1), so applications that signed may still send it. */
const secretName = "secret_key";

/** The secrets of one environment, to be found among values. */
interface KnownSecrets {
  /** Most values differ from every secret in length, and cost no digest. */
  readonly lengths: ReadonlySet<number>;
  readonly lookup: SecretLookup<true>;
}

/** A reload makes each environment again, with its new secrets. */
const secretsOf = new WeakMap<Environment, KnownSecrets>();

/**
 * A secret never travels in a body: the service needs none there, and bodies end in logs and databases.
 * @throws ProxyError secret_in_body
 */
export function checkForSecrets(parameters: Parameters, environment: Environment): void {
  const { lengths, lookup } = secretsOf.get(environment) ?? learnSecrets(environment);
  for (const { name, value } of parameters.values()) {
    if (name === secretName) {
      const what = `The parameter ${secretName} is for a secret, which never travels: Countersign signs, or attaches a token`;
      throw new ProxyError("secret_in_body", `${what}. Leave it out.`, { causedBy: name });
    }
    if (lengths.has(Buffer.byteLength(value)) && lookup.find(value)) {
      const what = `The value of the parameter ${name} is a secret of this listener's environment`;
      throw new ProxyError("secret_in_body", `${what}. Leave it out.`, { causedBy: name });
    }
  }
}

function learnSecrets(environment: Environment): KnownSecrets {
  const secrets = listSecrets(environment);
  const lengths = new Set(secrets.map((secret) => secret.length));
  const known = { lengths, lookup: new SecretLookup(secrets.map((secret) => [secret, true] as const)) };
  secretsOf.set(environment, known);
  return known;
}

/** Whatever proves this environment's sites to the service, its authorization server or its forward proxy. */
function listSecrets(environment: Environment): Secret[] {
  const { sites, tls, egress } = environment;
  const ofSites = [...sites.values()].flatMap(({ keys }) => keys.map(({ secret }) => secret));
  const ofSets = credentialSetsOf(environment).flatMap(({ set: { clientSecret, token } }) => {
    const { clientAuth } = token ?? {};
    return [clientSecret, clientAuth?.method === "private_key_jwt" ? clientAuth.privateKey : undefined];
  });
  const all = [...ofSites, ...ofSets, tls.key, egress?.credentials, egress?.tls.key];
  return all.filter((secret) => secret !== undefined);
}
