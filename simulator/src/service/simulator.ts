import { type ApiHost, serveApi } from "./api-host.ts";
import { type AuthorizationServer, serveTokenRequest } from "./authorization-server.ts";
import { sendCallback } from "./callback.ts";
import { type Controlled, controlPath, isControl, serveControl } from "./control.ts";
import { type Counts, createTotals } from "./counts.ts";
import { createCredentialSets } from "./credential-sets.ts";
import { createFaultPlan } from "./faults.ts";
import { type ListeningHost, type SimulatorTls, startHost } from "./listening-host.ts";
import { type ApiRequest, createHostLog, createRequestLog, type RequestLog, type TokenRequest } from "./request-log.ts";
import { createSiteDirectory, type SimulatedSite } from "./sites.ts";
import { createTokenIssuer, type Forgery } from "./token-issuer.ts";
import { exemptNames } from "./verify-signature.ts";

/** Options of the simulated service. Only `sites` is required. */
export interface SimulatorOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly apiPort?: number;
  readonly loginPort?: number;
  /** Default `/json-api`. */
  readonly basePath?: string;
  /** Default `sandbox`. A token of another environment is refused (spec 7). */
  readonly environment?: string;
  readonly sites: readonly SimulatedSite[];
  /** Default 86400. */
  readonly tokenLifetimeSeconds?: number;
  /** Prefix of `token_1`, `token_2`, …, so that the tokens of two environments differ. Default none. */
  readonly tokenPrefix?: string;
  /** Default 600. */
  readonly timestampToleranceSeconds?: number;
  /** Names that are not signed, besides `signature`; default format and call (spec 5.2). */
  readonly exempt?: readonly string[];
  /** `any` lifts spec 5.2 rule 3; default `strict`. */
  readonly characters?: "strict" | "any";
  /** How long an idle connection is kept; default 60000. */
  readonly keepAliveTimeoutMs?: number;
  /** Wall clock; default the machine's. */
  readonly nowMs?: () => number;
  /** If present, both hosts speak TLS. */
  readonly tls?: SimulatorTls;
  /** Receives one line per request, once it is answered; never a secret. */
  readonly log?: (line: string) => void;
}

/** The payment service as the specification describes it: JSON API and authorization server, on a port each. */
export interface Simulator extends Controlled {
  /** e.g. `http://127.0.0.1:41001/json-api`: the base URL of a client. */
  readonly apiUrl: string;
  /** e.g. `http://127.0.0.1:41002`: tokens are at `/oauth/token` below it. */
  readonly loginUrl: string;
  /** On the API port, outside the base path. */
  readonly controlUrl: string;
  readonly seen: RequestLog;
  /** Makes a token without a token request: of another environment or audience, or a short-lived one. */
  plantToken(clientId: string, forgery?: Forgery): string;
  stopApi(): Promise<void>;
  startApi(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts both hosts.
 * @throws Error when the sites contradict each other or a port is taken
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { host = "127.0.0.1", apiPort = 0, loginPort = 0, tls, keepAliveTimeoutMs = 60_000 } = options;
  const basePath = checkedBasePath(options.basePath ?? "/json-api");
  const { api, login } = createService(options, basePath);
  const { issuer, sets, plan } = login;
  const at = { host, tls, keepAliveTimeoutMs };
  const authorizationServer = await startHost({
    ...at,
    port: loginPort,
    serve: (exchange) => serveTokenRequest(exchange, login),
  });
  const apiHost = await startHost({
    ...at,
    port: apiPort,
    serve: (exchange) =>
      isControl(exchange.request.url) ? serveControl(exchange, simulator) : serveApi(exchange, api),
  }).catch(async (error: unknown) => {
    await authorizationServer.stop();
    throw error;
  });
  const simulator: Simulator = {
    apiUrl: apiHost.origin + basePath,
    loginUrl: authorizationServer.origin,
    controlUrl: apiHost.origin + controlPath,
    seen: createRequestLog(api.requests, login.requests),
    faults: plan,
    counts: () => countAll(api, login, apiHost, authorizationServer),
    plantToken: (clientId, forgery = {}) => issuer.plant(sets.known(clientId), forgery).token,
    revokeAllTokens: issuer.revokeAll,
    setTokenLifetimeSeconds: issuer.setLifetimeSeconds,
    deleteCredentials: sets.delete,
    restoreCredentials: sets.restore,
    changeClientSecret: sets.changeSecret,
    sendCallback: (order) => sendCallback(order, api.rules.directory, login.nowMs()),
    stopLogin: authorizationServer.stop,
    startLogin: authorizationServer.start,
    stopApi: apiHost.stop,
    startApi: apiHost.start,
    async stop() {
      await Promise.all([apiHost.stop(), authorizationServer.stop()]);
    },
  };
  return simulator;
}

/** Both hosts, before they listen; they share sites, tokens and the plan of faults. */
function createService(
  options: SimulatorOptions,
  basePath: string,
): { readonly api: ApiHost; readonly login: AuthorizationServer } {
  const { sites, environment = "sandbox", nowMs = Date.now, log = () => undefined } = options;
  const directory = createSiteDirectory(sites);
  const sets = createCredentialSets(sites);
  const { tokenPrefix: prefix = "", tokenLifetimeSeconds: lifetimeSeconds = 86_400 } = options;
  const issuer = createTokenIssuer({ environment, prefix, lifetimeSeconds, nowMs });
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
function countAll(
  api: ApiHost,
  login: AuthorizationServer,
  apiHost: ListeningHost,
  authorizationServer: ListeningHost,
): Counts {
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

function checkedBasePath(basePath: string): string {
  if (/^(\/[A-Za-z0-9_.-]+)*$/.test(basePath) && !isControl(basePath)) return basePath;
  throw new Error("basePath is empty or like /json-api, without a slash at the end, and not /simulator");
}
