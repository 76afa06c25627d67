import type { Egress, Environment } from "../../../src/model/environment.ts";
import { Secret } from "../../../src/model/secret.ts";
import { addressOf } from "../../../testkit/address.ts";
import { foreignCertificate, serverKey, trusting } from "../../../testkit/certificates.ts";
import { type ForwardProxy, type ForwardProxyOptions, startForwardProxy } from "../../../testkit/forward-proxy.ts";
import { type Stage, type StageOptions, stageProxy } from "../../../testkit/stage.ts";

/** The only name in the tests' certificates, beside those of loopback. Only the proxy can resolve it. */
export const serviceName = "elsewhere.example";
export const serviceCertificate = { cert: foreignCertificate, key: serverKey };
export const password = "canary-proxy:pass:word";

/** The service's API and its authorization server, by the name and the ports that only the proxy knows. */
export const places = { api: `${serviceName}:443`, login: `${serviceName}:8443` } as const;

export interface EgressStageOptions extends Omit<StageOptions, "environment"> {
  readonly proxy?: ForwardProxyOptions;
  readonly egress?: Partial<Egress>;
  readonly environment?: Partial<Environment>;
  /** http:// in place of https:// */
  readonly plain?: boolean;
}

export interface EgressStage extends Stage {
  readonly forward: ForwardProxy;
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
export async function stageEgress(options: EgressStageOptions = {}): Promise<EgressStage> {
  const { plain = false, proxy = {}, egress, ...rest } = options;
  // Tokens are requested while the service's ports are not known yet.
  let learn = () => {};
  const isLearnt = new Promise<void>((resolve) => {
    learn = resolve;
  });
  const forward = await startForwardProxy({ ...proxy, isReady: isLearnt });
  const scheme = plain ? "http" : "https";
  const stage = await stageProxy({
    baseUrl: `${scheme}://${places.api}/json-api`,
    authUrl: `${scheme}://${places.login}`,
    ...rest,
    simulator: { ...(plain ? {} : { tls: serviceCertificate }), ...rest.simulator },
    environment: { tls: trusting, egress: egressThrough(forward, egress), ...rest.environment },
  });
  const portOf = (url: string) => new URL(url).port;
  const { apiUrl, loginUrl } = stage.simulator;
  forward.hosts = { [places.api]: portOf(apiUrl), [places.login]: portOf(loginUrl), ...proxy.hosts };
  learn();
  return { ...stage, forward };
}

export const credentials = new Secret(password);
