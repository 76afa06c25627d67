import type { Egress, Environment } from "../../src/model/environment.ts";
import { Secret } from "../../src/model/secret.ts";
import { addressOf } from "../address.ts";
import { foreignCertificate, serverKey, trusting } from "../certificates.ts";
import { type ForwardProxyOptions, startForwardProxy } from "../forward-proxy.ts";
import { type StageOptions, startStage } from "./start.ts";

/** The only name in the tests' certificates, beside those of loopback. Only the proxy can resolve it. */
export const serviceName = "elsewhere.example";
export const serviceCertificate = { cert: foreignCertificate, key: serverKey };
export const password = "canary-proxy:pass:word";

/** The service's API and its authorization server, by the name and the ports that only the proxy knows. */
export const places = { api: `${serviceName}:443`, login: `${serviceName}:8443` } as const;

export interface EgressOptions extends Omit<StageOptions, "environment"> {
  readonly proxy?: ForwardProxyOptions;
  readonly egress?: Partial<Egress>;
  readonly environment?: Partial<Environment>;
  /** http:// in place of https:// */
  readonly plain?: boolean;
}

export function egressThrough({ url }: { readonly url: string }, more: Partial<Egress> = {}): Egress {
  const known = {
    proxy: addressOf(url),
    tls: trusting,
    credentials: undefined,
    noProxy: [],
    direct: new Set<string>(),
  };
  return { ...known, ...more };
}

/** The service over TLS, which can only be reached through a forward proxy: no name server knows its name. */
export async function egress(options: EgressOptions = {}) {
  const { plain = false, proxy = {}, egress: change, ...rest } = options;
  // Tokens are requested while the service's ports are not known yet.
  let learn = () => {};
  const isLearnt = new Promise<void>((resolve) => {
    learn = resolve;
  });
  const forward = await startForwardProxy({ ...proxy, isReady: isLearnt });
  const scheme = plain ? "http" : "https";
  const staged = await startStage({
    baseUrl: `${scheme}://${places.api}/json-api`,
    authUrl: `${scheme}://${places.login}`,
    ...rest,
    simulator: { ...(plain ? {} : { tls: serviceCertificate }), ...rest.simulator },
    environment: { tls: trusting, egress: egressThrough(forward, change), ...rest.environment },
  });
  const portOf = (url: string) => new URL(url).port;
  const { apiUrl, loginUrl } = staged.simulator;
  forward.hosts = { [places.api]: portOf(apiUrl), [places.login]: portOf(loginUrl), ...proxy.hosts };
  learn();
  return { ...staged, forward };
}

export const credentials = new Secret(password);
