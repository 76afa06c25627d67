import type { ApiHost } from "./api-host.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import { type Counts, createTotals } from "./counts.ts";
import { createCredentialSets } from "./credential-sets.ts";
import { createFaultPlan } from "./faults.ts";
import type { ListeningHost, SimulatorTls } from "./listening-host.ts";
import { type ApiRequest, createHostLog, type TokenRequest } from "./request-log.ts";
import { createSiteDirectory, type SimulatedSite } from "./sites.ts";
import { createTokenIssuer } from "./token-issuer.ts";
import { exemptNames } from "./verify-signature.ts";

/** Both hosts, before they listen; they share sites, tokens and the plan of faults. */
export interface Service {
  readonly api: ApiHost;
  readonly login: AuthorizationServer;
}

export function createService(options: SimulatorOptions, basePath: string): Service {
  const { sites, environment = "sandbox", nowMs = Date.now, log = () => undefined } = options;
  const directory = createSiteDirectory(sites);
  const sets = createCredentialSets(sites);
  const lifetimeSeconds = options.tokenLifetimeSeconds ?? 86_400;
  const issuer = createTokenIssuer({ environment, prefix: options.tokenPrefix ?? "", lifetimeSeconds, nowMs });
  const plan = createFaultPlan();
  const { exempt = exemptNames, characters = "strict", timestampToleranceSeconds = 600 } = options;
  const rules = {
    basePath,
    directory,
    parameters: { timestampToleranceSeconds, nowMs },
    signature: { exempt: [...exempt, "signature"], characters, keys: directory.keys },
    token: { issuer, sets, environment },
  };
  return {
    api: { rules, plan, requests: createHostLog<ApiRequest>(), totals: createTotals(), log },
    login: { sets, issuer, plan, requests: createHostLog<TokenRequest>(), totals: createTotals(), nowMs, log },
  };
}

/** Puts the totals of both hosts together. */
export function countAll({ api, login }: Service, apiHost: ListeningHost, authorizationServer: ListeningHost): Counts {
  const { accepted, unauthorized, refused, replaced, cut, abandoned, answers } = api.totals;
  return {
    apiRequests: api.requests.arrived,
    accepted,
    unauthorized,
    refused,
    replaced,
    cut,
    abandoned,
    apiAnswers: Object.fromEntries(answers),
    tokenRequests: login.requests.arrived,
    tokensIssued: login.issuer.issuedCount,
    loginAnswers: Object.fromEntries(login.totals.answers),
    incomplete: api.totals.incomplete + login.totals.incomplete,
    malformed: apiHost.malformed + authorizationServer.malformed,
    apiConnections: apiHost.connections,
    loginConnections: authorizationServer.connections,
  };
}

/** How the service is to be. Only `sites` is needed. */
export interface SimulatorOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly apiPort?: number;
  readonly loginPort?: number;
  /** Default `/json-api`. */
  readonly basePath?: string;
  /** Default `sandbox`. A token of another environment is refused (spec 7). */
  readonly environment?: string;
  readonly sites: readonly SimulatedSite[];
  /** Default 86400. */
  readonly tokenLifetimeSeconds?: number;
  /** Put before `token_1`, `token_2`, …, so that the tokens of two environments differ. Default none. */
  readonly tokenPrefix?: string;
  /** Default 600. */
  readonly timestampToleranceSeconds?: number;
  /** Names that are not signed beside signature itself; default format and call (spec 5.2). */
  readonly exempt?: readonly string[];
  /** `any` lifts spec 5.2 rule 3; default `strict`. */
  readonly characters?: "strict" | "any";
  /** How long an idle connection is kept; default 60000. */
  readonly keepAliveTimeoutMs?: number;
  /** Wall clock; default the machine's. */
  readonly nowMs?: () => number;
  /** Both hosts speak TLS when given. */
  readonly tls?: SimulatorTls;
  /** Receives one line per request, once it is answered; never a secret. */
  readonly log?: (line: string) => void;
}
