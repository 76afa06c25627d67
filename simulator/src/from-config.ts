import type { Address, CredentialSet, Environment, Site } from "countersign/model/environment";
import type { SimulatorOptions } from "./service/simulator.ts";
import type { SimulatedSite } from "./service/sites.ts";

/** How the simulator plays one environment of a configuration. */
export interface Simulation {
  readonly environment: string;
  readonly options: SimulatorOptions;
  /** Settings whose addresses are not on this machine: the simulator uses its own addresses instead. */
  readonly elsewhere: readonly ("baseUrl" | "authUrl")[];
  /** Settings of the configuration that the simulator cannot follow. */
  readonly notes: readonly string[];
}

export interface OwnPorts {
  readonly host: string;
  readonly apiPort: number;
  readonly loginPort: number;
}

/**
 * The service as an environment of the configuration expects it: its sites, keys and credential sets, at its addresses
 * if these are on this machine.
 */
export function simulationOf(environment: Environment, own: OwnPorts): Simulation {
  const { name, baseUrl, authUrl } = environment;
  const sites = [...environment.sites.values()];
  const signing = sites.filter(({ auth }) => auth.includes("hmac"));
  const api = isOurs(baseUrl) && /^[A-Za-z0-9_./-]*$/.test(baseUrl.path) ? baseUrl : undefined;
  // The path of tokens is exactly /oauth/token, and both hosts listen on the same address.
  const login =
    isOurs(authUrl) && authUrl.path === "" && (api === undefined || authUrl.host === api.host) ? authUrl : undefined;
  const [exempt] = signing.map((site) => site.exempt);
  return {
    environment: name,
    options: {
      environment: name,
      host: (api ?? login)?.host.replace(/^\[|\]$/g, "") ?? own.host,
      apiPort: api?.port ?? own.apiPort,
      loginPort: login?.port ?? own.loginPort,
      basePath: api?.path ?? (baseUrl.path.includes("~") ? "/json-api" : baseUrl.path),
      sites: withoutDuplicates(sites.map(simulate)),
      characters: signing.some(({ characters }) => characters !== "reject") ? "any" : "strict",
      ...(exempt === undefined ? {} : { exempt: [...exempt] }),
    },
    elsewhere: [
      ...(api === undefined ? (["baseUrl"] as const) : []),
      ...(login === undefined && authUrl !== undefined ? (["authUrl"] as const) : []),
    ],
    notes: [...noteDuplicates(sites), ...noteOtherServers(sites), ...noteExempt(signing)],
  };
}

function isOurs(address: Address | undefined): address is Address {
  if (address?.scheme !== "http") return false;
  return address.host === "localhost" || address.host === "[::1]" || /^127(\.\d+){3}$/.test(address.host);
}

/** The site's own sets only: a child without sets uses its parent's. */
function ownSetsOf({ identifier, credentials }: Site): readonly CredentialSet[] {
  return credentials?.owner === identifier ? credentials.sets : [];
}

/** The only place on the service's side that reveals secrets. */
function simulate(site: Site): SimulatedSite {
  const { identifier, parent, version, keys, defaultKey } = site;
  return {
    identifier,
    version,
    ...(parent === undefined ? {} : { parent }),
    keys: keys.map((key) => ({
      identifier: key.identifier,
      secret: key.secret.reveal(),
      version: key.version,
      isDefault: key === defaultKey,
    })),
    credentials: ownSetsOf(site).flatMap(({ clientId, clientSecret, audience, token }) => {
      if (clientSecret === undefined || audience === undefined || token !== undefined) return [];
      return [{ clientId, clientSecret: clientSecret.reveal(), audience }];
    }),
  };
}

/** Each client stays only at its first site: the service knows a client once (spec 2.3). */
function withoutDuplicates(sites: readonly SimulatedSite[]): SimulatedSite[] {
  const known = new Set<string>();
  return sites.map(({ credentials = [], ...site }) => {
    const own = credentials.filter(({ clientId }) => !known.has(clientId) && known.add(clientId));
    return { ...site, credentials: own };
  });
}

function noteDuplicates(sites: readonly Site[]): string[] {
  const owners = new Map<string, string>();
  return sites.flatMap((site) =>
    ownSetsOf(site).flatMap(({ clientId }) => {
      const owner = owners.get(clientId);
      owners.set(clientId, owner ?? site.identifier);
      return owner === undefined
        ? []
        : [`client ${clientId} belongs to ${owner}; its tokens do not serve ${site.identifier}`];
    }),
  );
}

/** The simulator plays only the service's own authorization server (spec 4.2). */
function noteOtherServers(sites: readonly Site[]): string[] {
  const others = sites.flatMap(ownSetsOf).filter(({ token }) => token !== undefined);
  return others.map(({ clientId }) => {
    return `client ${clientId} is not known here: its tokens are requested with other settings (token)`;
  });
}

function noteExempt(signing: readonly Site[]): string[] {
  const lists = new Set(signing.map(({ exempt }) => [...exempt].sort().join(", ")));
  const [first] = lists;
  return lists.size < 2 ? [] : [`every site is verified with the first site's exempt names: ${first}`];
}
