import { X509Certificate } from "node:crypto";
import { collectDefaultMetrics, type Gauge, type Registry } from "prom-client";
import { credentialSetsOf, splitCertificates } from "../../model/environment.ts";
import { type CredentialSnapshot, credentialKey } from "../../model/events.ts";
import { allSites, getOrMake } from "./series.ts";
import type { Configured, Source } from "./source.ts";

/** A series and its value now. */
export type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];
type Samples<Label extends string> = Sample<Label>[];
type OfSet = "environment" | "credential";

export function inFlight(source: Source): Samples<"environment"> {
  const idle = source.configured().environments.map(({ name }) => [name, 0] as const);
  return [...new Map([...idle, ...source.inFlight()])].map(([environment, open]) => [{ environment }, open]);
}

/** A gauge of all listeners; those with the same name are added up. */
export function ofListeners(read: (openConnections: number, source: Source) => number) {
  return (source: Source): Samples<"listener"> => {
    const sums = new Map<string, number>();
    for (const { listener, open } of source.connections()) {
      sums.set(listener, (sums.get(listener) ?? 0) + read(open, source));
    }
    return [...sums].map(([listener, sum]) => [{ listener }, sum]);
  };
}

/** A gauge of all credential sets whose value is known; without series if metrics do not name them. */
export function ofCredentials(read: (credential: CredentialSnapshot, source: Source) => number | undefined) {
  return (source: Source): Samples<OfSet> =>
    (source.configured().namesSites ? source.credentials() : []).flatMap((each) => {
      const value = read(each, source);
      return value === undefined ? [] : [[{ environment: each.environment, credential: each.credential }, value]];
    });
}

/**
 * If metrics name no sites, one series of each environment represents its sites or sets: a gauge keeps the last value of the
 * same labels.
 * @param compare sorts the value to be shown to the end
 */
function namedOrAll<Label extends "site" | "credential">(
  samples: Samples<"environment" | Label>,
  label: Label,
  compare: (one: number, other: number) => number,
  { namesSites }: Configured,
): Samples<"environment" | Label> {
  if (namesSites) return samples;
  const sorted = samples.toSorted(([, one], [, other]) => compare(one, other));
  return sorted.map(([labels, value]) => [{ ...labels, [label]: allSites }, value]);
}

/** 1 for a site with `bridge` whose credential sets are all in an outage, else 0. */
export function bridgeActive(source: Source): Samples<"environment" | "site"> {
  const configured = source.configured();
  const bridged = configured.environments.flatMap(({ name: environment, sites }) =>
    [...sites.values()].filter(({ bridge }) => bridge !== undefined).map((site) => ({ environment, ...site })),
  );
  // Reading thousands of sets takes milliseconds, and few sites have a bridge.
  const sets = bridged.length === 0 ? [] : source.credentials();
  const inOutage = new Set(sets.flatMap((each) => (each.isInOutage ? [credentialKey(each)] : [])));
  const samples = bridged.flatMap(({ environment, identifier: site, credentials }): Samples<"environment" | "site"> => {
    if (credentials === undefined) return [];
    const isActive = credentials.sets.every(({ label: credential }) =>
      inOutage.has(credentialKey({ environment, credential })),
    );
    return [[{ environment, site }, isActive ? 1 : 0]];
  });
  return namedOrAll(samples, "site", (one, other) => one - other, configured);
}

/** A moment on the monotonic clock as a Unix timestamp. */
export function toSeconds(source: Source, monotonicMs: number | undefined): number | undefined {
  return monotonicMs === undefined ? undefined : source.wallTime(monotonicMs) / 1_000;
}

export function credentialInfo(source: Source): Samples<OfSet | "position"> {
  const { environments, namesSites } = source.configured();
  return (namesSites ? environments : []).flatMap((environment) =>
    credentialSetsOf(environment).map(({ set, index }): Sample<OfSet | "position"> => {
      const position = index === 0 ? "first" : "second";
      return [{ environment: environment.name, credential: set.label, position }, 1];
    }),
  );
}

/** Each file is read once, even if several sets use it. An assertion without an expiry has no series. */
export async function assertionExpiry(source: Source): Promise<Samples<OfSet>> {
  const known = new Map<string, ReturnType<Source["readAssertion"]>>();
  const sampleOf = async (environment: string, credential: string, file: string): Promise<Samples<OfSet>> => {
    const read = await getOrMake(known, file, () => source.readAssertion(file));
    const seconds = "kind" in read ? 0 : read.expiresAtMs && read.expiresAtMs / 1_000;
    return seconds === undefined ? [] : [[{ environment, credential }, seconds]];
  };
  const configured = source.configured();
  const samples = configured.environments.flatMap((environment) =>
    credentialSetsOf(environment).flatMap(({ set: { label, token } }) => {
      const proof = token?.clientAuth;
      return proof?.method === "assertion" ? [sampleOf(environment.name, label, proof.file)] : [];
    }),
  );
  const read = (await Promise.all(samples)).flat();
  return namedOrAll(read, "credential", (one, other) => other - one, configured);
}

/** A file's text is parsed once as long as it stays configured. */
export function createCertificateExpiry() {
  let known: ReadonlyMap<string, number | undefined> = new Map();
  return (source: Source): Samples<"environment" | "listener" | "use"> => {
    const files = [
      ...source.configured().environments.flatMap(({ name: environment, tls }) => [
        { environment, listener: "none", use: "upstream_ca", pem: tls.ca ?? "" },
        { environment, listener: "none", use: "upstream_client", pem: tls.cert ?? "" },
      ]),
      ...source.configured().listeners.flatMap(({ name: listener, environment, tls }) => [
        { environment, listener, use: "listener_server", pem: tls?.cert ?? "" },
        { environment, listener, use: "listener_ca", pem: tls?.ca ?? "" },
      ]),
    ];
    known = new Map(files.map(({ pem }) => [pem, known.has(pem) ? known.get(pem) : earliestExpirySeconds(pem)]));
    return files.flatMap(({ pem, ...labels }) => {
      const expiry = known.get(pem);
      return expiry === undefined ? [] : [[labels, expiry]];
    });
  };
}

/**
 * The earliest expiry of a file's certificates, in seconds of Unix time; undefined if it has none that can be read.
 * @param pem the text of the file
 */
export function earliestExpirySeconds(pem: string): number | undefined {
  const expiries = splitCertificates(pem).map(readExpiry);
  const known = expiries.filter((seconds) => !Number.isNaN(seconds));
  return known.length === 0 ? undefined : Math.min(...known);
}

/** NaN for a certificate that OpenSSL cannot read, or that never expires. */
function readExpiry(pem: string): number {
  try {
    return Date.parse(new X509Certificate(pem).validTo) / 1_000;
  } catch {
    return Number.NaN;
  }
}

/** Gauges of prom-client that end in `_total`, as only counters should; each is the sum of a gauge that stays. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** prom-client's own timer wakes an idle process a hundred times a second, to measure how late it is. */
const sampleEveryMs = 100;
/** The time between two samples of that timer, which these metrics include everywhere else. */
const usualSampleEveryMs = 10;

/** Registers prom-client's metrics of every process, with their usual names and values. */
export function registerProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: sampleEveryMs });
  /** The values that prom-client sets. The gauges show them, less the excess, after `collect`. */
  const taken: number[] = [];
  const updates = ["min", "max", "mean", "p50", "p90", "p99", "stddev"].map((name, index) => {
    const gauge = registry.getSingleMetric(`nodejs_eventloop_lag_${name}_seconds`) as Gauge;
    const set = gauge.set.bind(gauge);
    const excessSeconds = name === "stddev" ? 0 : (sampleEveryMs - usualSampleEveryMs) / 1_000;
    gauge.set = (_: unknown, seconds?: number) => {
      taken[index] = seconds ?? Number.NaN;
    };
    return () => set(Math.max((taken[index] ?? 0) - excessSeconds, 0));
  });
  // Its `collect`, which the types leave out, sets the other gauges too.
  const lag = registry.getSingleMetric("nodejs_eventloop_lag_seconds") as unknown as { collect: () => void };
  const collect = lag.collect;
  lag.collect = () => {
    collect.call(lag);
    // Without a sample since the last scrape the deviation is NaN: all gauges keep their values.
    if (!taken.some(Number.isNaN)) for (const update of updates) update();
  };
  for (const name of misnamed) registry.removeSingleMetric(name);
}
