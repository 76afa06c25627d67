import { serveApi } from "./api-host.ts";
import { serveTokenRequest } from "./authorization-server.ts";
import { sendCallback } from "./callback.ts";
import { type Controlled, controlPath, isControl, serveControl } from "./control.ts";
import { type ListeningHost, startHost } from "./listening-host.ts";
import { createRequestLog, type RequestLog } from "./request-log.ts";
import { countAll, createService, type Service, type SimulatorOptions } from "./service.ts";
import type { Forgery } from "./token-issuer.ts";

export type { SimulatorOptions } from "./service.ts";

/** The payment service as the specification describes it: JSON API and authorization server, on a port each. */
export interface Simulator extends Controlled {
  /** e.g. `http://127.0.0.1:41001/json-api`: what a client calls its base URL. */
  readonly apiUrl: string;
  /** e.g. `http://127.0.0.1:41002`: tokens are at `/oauth/token` below it. */
  readonly loginUrl: string;
  /** On the API port, outside the base path. */
  readonly controlUrl: string;
  readonly seen: RequestLog;
  /** A token that no token request asked for: another environment's, another audience's, a short-lived one. */
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
  const basePath = checkedBasePath(options.basePath ?? "/json-api");
  const service = createService(options, basePath);
  const { api, login } = service;
  const at = {
    host: options.host ?? "127.0.0.1",
    tls: options.tls,
    keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 60_000,
  };
  const authorizationServer = await startHost({
    ...at,
    port: options.loginPort ?? 0,
    serve: (exchange) => serveTokenRequest(exchange, login),
  });
  const apiHost = await startHost({
    ...at,
    port: options.apiPort ?? 0,
    serve: (exchange) =>
      isControl(exchange.request.url) ? serveControl(exchange, simulator) : serveApi(exchange, api),
  }).catch(async (error: unknown) => {
    await authorizationServer.stop();
    throw error;
  });
  const simulator = assemble(service, apiHost, authorizationServer, basePath);
  return simulator;
}

function assemble(
  service: Service,
  apiHost: ListeningHost,
  authorizationServer: ListeningHost,
  basePath: string,
): Simulator {
  const { api, login } = service;
  const { issuer, sets, plan } = login;
  return {
    apiUrl: apiHost.origin + basePath,
    loginUrl: authorizationServer.origin,
    controlUrl: apiHost.origin + controlPath,
    seen: createRequestLog(api.requests, login.requests),
    faults: plan,
    counts: () => countAll(service, apiHost, authorizationServer),
    plantToken(clientId, forgery = {}) {
      const set = sets.find(clientId);
      if (set === undefined) throw new Error(`no credential set has the client id ${JSON.stringify(clientId)}`);
      return issuer.plant(set, forgery).token;
    },
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
}

function checkedBasePath(basePath: string): string {
  if (/^(\/[A-Za-z0-9_.-]+)*$/.test(basePath) && !isControl(basePath)) return basePath;
  throw new Error("basePath is empty or like /json-api, without a slash at the end, and not /simulator");
}
