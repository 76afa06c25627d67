import type { CallersTls } from "../../model/callers.ts";
import type { Environment } from "../../model/environment.ts";
import { earliestExpirySeconds } from "./certificate-expiry.ts";
import type { Metrics } from "./metrics.ts";

/** A listener as far as metrics show it. */
export interface ConfiguredListener {
  /** Where it listens, as configured. */
  readonly name: string;
  readonly environment: string;
  /** With mTLS: its own certificate, and the authorities of its callers. */
  readonly tls: CallersTls | undefined;
}

/** What there is to show of a configuration in force. */
export interface Configured {
  readonly environments: readonly Environment[];
  /** `limits.inFlightPerEnvironment` */
  readonly inFlightLimit: number;
  readonly listeners: readonly ConfiguredListener[];
  /** The servers in use, and what is known of them by now. */
  readonly redis: readonly { readonly node: string; readonly isUp: boolean | undefined }[];
}

/**
 * Shows what the configuration in force says, and what no request can have changed yet. What the one before had, and this
 * one has not, goes.
 */
export type ShowConfigured = (configured: Configured) => void;

export function createShowConfigured(metrics: Metrics): ShowConfigured {
  let known: ReadonlySet<string> = new Set();
  return ({ environments, inFlightLimit, listeners, redis }) => {
    metrics.inFlightLimit.reset();
    metrics.credentialInfo.reset();
    metrics.redisUp.reset();
    metrics.certificateExpiry.reset();
    for (const each of [...environments.flatMap(towardsService), ...listeners.flatMap(towardsCallers)]) {
      const { pem, ...labels } = each;
      const expiry = pem === undefined ? undefined : earliestExpirySeconds(pem);
      if (expiry !== undefined) metrics.certificateExpiry.set(labels, expiry);
    }
    for (const { name: environment } of environments) metrics.inFlightLimit.set({ environment }, inFlightLimit);
    for (const { node, isUp } of redis) metrics.redisUp.set({ node }, isUp === true ? 1 : 0);
    const present = new Set<string>();
    for (const { environment, credential, isFirst } of environments.flatMap(credentialsOf)) {
      metrics.credentialInfo.set({ environment, credential, position: isFirst ? "first" : "second" }, 1);
      const key = `${environment} ${credential}`;
      present.add(key);
      // Of those that were there before, the site may have another in use by now.
      if (!known.has(key)) metrics.active.set({ environment, credential }, isFirst ? 1 : 0);
    }
    known = present;
  };
}

function credentialsOf({ name: environment, sites }: Environment) {
  return [...sites.values()].flatMap(({ identifier, credentials }) => {
    if (credentials?.owner !== identifier) return [];
    return credentials.sets.map(({ label: credential }, index) => ({ environment, credential, isFirst: index === 0 }));
  });
}

/** The files of one place that hold certificates, with their labels. */
type CertificateFile = Record<"environment" | "listener" | "use", string> & { readonly pem: string | undefined };

function towardsService({ name: environment, tls }: Environment): CertificateFile[] {
  const place = { environment, listener: "none" };
  return [
    { ...place, use: "upstream_ca", pem: tls.ca },
    { ...place, use: "upstream_client", pem: tls.cert },
  ];
}

function towardsCallers({ name: listener, environment, tls }: ConfiguredListener): CertificateFile[] {
  return [
    { environment, listener, use: "listener_server", pem: tls?.cert },
    { environment, listener, use: "listener_ca", pem: tls?.ca },
  ];
}
