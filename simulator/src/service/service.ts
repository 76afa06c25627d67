import type { ApiHost } from "./api-host.ts";
import { type Counts, createTotals } from "./counts.ts";
import { createCredentialSets } from "./credential-sets.ts";
import { createFaultPlan } from "./faults.ts";
import type { ListeningHost } from "./listening-host.ts";
import type { LoginHost } from "./login-host.ts";
import type { SimulatorOptions } from "./options.ts";
import { type ApiRequest, createLog, type TokenRequest } from "./seen.ts";
import { createSiteDirectory } from "./sites.ts";
import { createTokenDesk } from "./token-desk.ts";
import { exemptNames } from "./verify-signature.ts";

/** Both hosts, before they listen; they share sites, tokens and the plan of faults. */
export interface Service {
  readonly api: ApiHost;
  readonly login: LoginHost;
}

export function createService(options: SimulatorOptions, basePath: string): Service {
  const { sites, environment = "sandbox", nowMs = Date.now, log = () => undefined } = options;
  const directory = createSiteDirectory(sites);
  const sets = createCredentialSets(sites);
  const lifetimeSeconds = options.tokenLifetimeSeconds ?? 86_400;
  const desk = createTokenDesk({ environment, prefix: options.tokenPrefix ?? "", lifetimeSeconds, nowMs });
  const plan = createFaultPlan();
  const { exempt = exemptNames, characters = "strict", timestampToleranceSeconds = 600 } = options;
  const rules = {
    basePath,
    directory,
    parameters: { timestampToleranceSeconds, nowMs },
    signature: { exempt: [...exempt, "signature"], characters, keys: directory.keys },
    token: { desk, sets, environment },
  };
  return {
    api: { rules, plan, requests: createLog<ApiRequest>(), totals: createTotals(), log },
    login: { sets, desk, plan, requests: createLog<TokenRequest>(), totals: createTotals(), nowMs, log },
  };
}

/** Puts the totals of both hosts together. */
export function countAll({ api, login }: Service, apiHost: ListeningHost, loginHost: ListeningHost): Counts {
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
    tokensIssued: login.desk.issuedCount,
    loginAnswers: Object.fromEntries(login.totals.answers),
    incomplete: api.totals.incomplete + login.totals.incomplete,
    malformed: apiHost.malformed + loginHost.malformed,
    apiConnections: apiHost.connections,
    loginConnections: loginHost.connections,
  };
}
