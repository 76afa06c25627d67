import type { CredentialSet, Credentials, Site } from "../model/environment.ts";
import { fingerprint } from "./hash.ts";

/**
 * A client that is configured at several sites is one to the authorization server, and has one token: its sets all carry the label
 * of the first, so that metrics, logs and `/status` speak of one thing by one name.
 */
export function shareLabels(sites: ReadonlyMap<string, Site>): Map<string, Site> {
  const labels = new Map<string, string>();
  const label = (set: CredentialSet): CredentialSet => {
    const client = fingerprint([set.clientId, set.audience, set.clientSecret]);
    const shared = labels.get(client) ?? set.label;
    labels.set(client, shared);
    return { ...set, label: shared };
  };
  const labelled = new Map<Credentials, Credentials>();
  const labelAll = (credentials: Credentials): Credentials => {
    const [first, ...rest] = credentials.sets;
    const same = labelled.get(credentials) ?? { ...credentials, sets: [label(first), ...rest.map(label)] };
    labelled.set(credentials, same);
    return same;
  };
  return new Map(
    [...sites].map(([identifier, site]) => {
      return [identifier, site.credentials === undefined ? site : { ...site, credentials: labelAll(site.credentials) }];
    }),
  );
}
