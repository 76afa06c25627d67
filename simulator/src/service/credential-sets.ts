import { createHash, timingSafeEqual } from "node:crypto";
import type { SimulatedCredentials, SimulatedSite } from "./sites.ts";

/** A credential set as the portal keeps it. */
export interface CredentialSet {
  readonly clientId: string;
  readonly audience: string;
  /** The S… of the site at which the set was generated. */
  readonly owner: string;
}

/** Why the authorization server refuses a set (spec 7, first row). */
export type CredentialRefusal = "client_unknown" | "credentials_deleted" | "secret_wrong" | "audience_wrong";

/** The credential sets of all sites. */
export interface CredentialSets {
  find(clientId: string): CredentialSet | undefined;
  /** @throws Error when no set has this client id; so do the last three functions */
  known(clientId: string): CredentialSet;
  check(presented: SimulatedCredentials): CredentialRefusal | CredentialSet;
  /** A deleted set obtains no more tokens; its earlier tokens stay valid (spec 3). */
  delete(clientId: string): void;
  restore(clientId: string): void;
  changeSecret(clientId: string, clientSecret: string): void;
}

const setsPerSite = 2;

export function createCredentialSets(sites: readonly SimulatedSite[]): CredentialSets {
  const sets = new Map<string, CredentialSet & { secret: string; isDeleted: boolean }>();
  for (const site of sites) {
    const given = site.credentials ?? [];
    if (given.length > setsPerSite) throw new Error(`site ${site.identifier} has more than two credential sets`);
    for (const { clientId, clientSecret, audience } of given) {
      if (sets.has(clientId)) throw new Error(`two credential sets have the client id ${clientId}`);
      sets.set(clientId, { clientId, audience, owner: site.identifier, secret: clientSecret, isDeleted: false });
    }
  }
  const known = (clientId: string) => {
    const set = sets.get(clientId);
    if (set === undefined) throw new Error(`no credential set has the client id ${JSON.stringify(clientId)}`);
    return set;
  };
  return {
    find: (clientId) => sets.get(clientId),
    known,
    check(presented) {
      const set = sets.get(presented.clientId);
      if (set === undefined) return "client_unknown";
      if (set.isDeleted) return "credentials_deleted";
      if (!isSameSecret(set.secret, presented.clientSecret)) return "secret_wrong";
      return set.audience === presented.audience ? set : "audience_wrong";
    },
    delete(clientId) {
      known(clientId).isDeleted = true;
    },
    restore(clientId) {
      known(clientId).isDeleted = false;
    },
    changeSecret(clientId, clientSecret) {
      known(clientId).secret = clientSecret;
    },
  };
}

/** Hashing makes the lengths equal, as `timingSafeEqual` demands. */
function isSameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
