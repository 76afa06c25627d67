import { Counter, Gauge, Registry } from "prom-client";
import { version } from "../../version.ts";
import {
  assertionExpiry,
  bridgeActive,
  createCertificateExpiry,
  credentialInfo,
  inFlight,
  ofCredentials,
  ofListeners,
  registerProcessMetrics,
  type Sample,
  toSeconds,
} from "./gauges.ts";
import { createCounter, createHistogram } from "./series.ts";
import type { Source } from "./source.ts";

/**
 * Every metric, with its help and labels. Label values come from the configuration alone: `none` stands for a site or
 * operation that is not known yet, `other` for an operation outside the list. docs/reference/metrics.md is made
 * from this file.
 * @param source read by gauges at each scrape; without it they have no series
 */
export function createMetrics(source?: Source) {
  const registry = new Registry();
  const registers = [registry];
  const namesSites = () => source?.configured().namesSites ?? true;
  /** @param details labels that `/status` has in addition to those of the metric */
  const counter = <Label extends string, Detail extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    details: readonly Detail[] = [],
  ) => createCounter({ registry, name, help, labelNames }, details, namesSites);
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    bounds: readonly number[],
  ) => createHistogram({ registry, name, help, labelNames }, bounds);
  /** @param ask returns its series at each scrape */
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    ask: (source: Source) => readonly Sample<Label>[] | Promise<readonly Sample<Label>[]>,
  ) => {
    const collect = async function (this: Gauge<Label>) {
      if (source === undefined) return;
      const samples = await ask(source);
      this.reset();
      for (const [labels, value] of samples) this.set(labels, value);
    };
    return new Gauge({ name, help, labelNames: [...labelNames], registers, collect });
  };
  /** A gauge without labels. */
  const figure = (name: string, help: string, ask: (source: Source) => number) =>
    gauge(name, help, [], (source) => [[{}, ask(source)]]);
  /** In seconds, by environment. */
  const clockSkews = new Map<string, number>();

  registerProcessMetrics(registry);
  return {
    registry,
    requests: counter(
      "countersign_requests_total",
      "Requests by who answered them, with what status, and what is known of their effect.",
      ["environment", "site", "auth", "operation", "status", "by", "outcome"],
      ["code"],
    ),
    answers: counter(
      "countersign_answers_total",
      "Requests by environment, who answered them, and class of status (2xx to 5xx), from 0 on.",
      ["environment", "auth", "by", "status_class"],
    ),
    unknownOutcomes: counter(
      "countersign_unknown_outcomes_total",
      "Requests that may have had an effect: written to the service, which gave no whole answer, or a 5xx. Safe methods (GET, HEAD, OPTIONS, TRACE) never count.",
      ["environment", "site"],
    ),
    unknownOutcomesSettled: counter(
      "countersign_unknown_outcomes_settled_total",
      "Of countersign_unknown_outcomes_total, those that somebody has looked for, and settled on this process's status port.",
      ["environment", "site"],
    ),
    callerRequests: counter(
      "countersign_caller_requests_total",
      "Requests by the name of their caller, where callers are named, and by outcome.",
      ["listener", "caller", "outcome"],
      ["by", "status", "code"],
    ),
    callerRefusals: counter(
      "countersign_caller_refusals_total",
      "Requests of known callers that their rights or their rate did not allow, by code.",
      ["listener", "caller", "code"],
    ),
    requestDuration: histogram(
      "countersign_request_duration_seconds",
      "From the complete request head to the end of the answer.",
      ["environment", "operation"],
      answerBuckets,
    ),
    upstreamDuration: histogram(
      "countersign_upstream_duration_seconds",
      "The service's share of a request: all attempts, from connecting to the end of the answer.",
      ["environment", "operation"],
      answerBuckets,
    ),
    overhead: histogram(
      "countersign_overhead_seconds",
      "The proxy's own time: without its waits for the service, a token, Redis and the caller.",
      ["environment", "operation"],
      overheadBuckets,
    ),
    tokenWait: histogram(
      "countersign_token_wait_duration_seconds",
      "How long requests with OAuth waited for a token, 0 where it was in memory.",
      ["environment"],
      waitBuckets,
    ),
    inFlight: gauge("countersign_requests_in_flight", "Requests being served now.", ["environment"], inFlight),
    inFlightLimit: gauge(
      "countersign_requests_in_flight_limit",
      "Requests that may be served at once, and as many streams of pass-through routes.",
      ["environment"],
      (from) => {
        const { environments, limits } = from.configured();
        return environments.map(({ name }) => [{ environment: name }, limits.inFlightPerEnvironment]);
      },
    ),
    bufferedBytes: figure(
      "countersign_buffered_bytes",
      "Memory that bodies and answers under way take, as charged.",
      (from) => from.buffers().usedBytes,
    ),
    bufferedBytesLimit: figure(
      "countersign_buffered_bytes_limit",
      "Memory that bodies and answers under way may take (limits.bufferedBytes).",
      (from) => from.buffers().limitBytes,
    ),
    failures: counter("countersign_failures_total", "Requests that Countersign failed to serve, by code and outcome.", [
      "environment",
      "site",
      "code",
      "outcome",
    ]),
    unauthorized: counter(
      "countersign_upstream_unauthorized_total",
      "Answers 401 of the service, by attempt (1, or 2 for the retry).",
      ["environment", "site", "auth", "attempt"],
    ),
    retries: counter(
      "countersign_retries_total",
      "What came of a 401: the retry's result, or not_possible where no other token came in time.",
      ["environment", "site", "result"],
    ),
    tunnels: counter(
      "countersign_tunnels_total",
      "Tunnels that a forward proxy was asked for (egress.proxy), by what came of it.",
      ["environment", "result"],
    ),
    callbacks: counter(
      "countersign_callbacks_total",
      "Callbacks by what came of them: delivered, declined, repeated, why it is not genuine, or the failure's code.",
      ["environment", "site", "result"],
      ["listener"],
    ),
    callerSignatures: counter(
      "countersign_caller_signature_total",
      "Requests by what the caller's own signature is, at sites that have it checked.",
      ["environment", "site", "result"],
    ),
    bridged: counter(
      "countersign_bridged_total",
      "Requests that were signed because no token was available (bridge: hmac), by the failure avoided.",
      ["environment", "site", "reason"],
    ),
    bridgeActive: gauge(
      "countersign_bridge_active",
      "1 while a site with bridge: hmac has no token, so that its requests are signed, else 0.",
      ["environment", "site"],
      bridgeActive,
    ),
    once: counter("countersign_once_total", "Requests with Countersign-Once, by what came of it.", [
      "environment",
      "result",
    ]),
    resultsUnwritten: figure(
      "countersign_results_unwritten",
      "Results of Countersign-Once, and of callbacks, that Redis has not taken: tried again each second, or given up.",
      (from) => from.unwritten(),
    ),
    callbacksUnguarded: counter(
      "countersign_callbacks_unguarded_total",
      "Callbacks that the application may get twice.",
      ["environment"],
      ["listener"],
    ),
    callbackDuration: histogram(
      "countersign_callback_duration_seconds",
      "From the complete head of a callback to the end of the answer.",
      ["environment"],
      answerBuckets,
    ),
    tokenRequests: counter("countersign_token_requests_total", "Requests to the authorization server by result.", [
      "environment",
      "credential",
      "result",
    ]),
    tokenRequestDuration: histogram(
      "countersign_token_request_duration_seconds",
      "How long the authorization server took.",
      ["environment"],
      answerBuckets,
    ),
    tokenExpiry: gauge(
      "countersign_token_expiry_timestamp_seconds",
      "When the token in memory expires.",
      ["environment", "credential"],
      ofCredentials(({ token }, from) => toSeconds(from, token?.expiresAtMs)),
    ),
    tokenIssued: gauge(
      "countersign_token_issued_timestamp_seconds",
      "When the token in memory was issued.",
      ["environment", "credential"],
      ofCredentials(({ token }, from) => toSeconds(from, token && token.expiresAtMs - token.lifetimeMs)),
    ),
    lastUsed: gauge(
      "countersign_credential_last_used_timestamp_seconds",
      "When a token of the set was last attached.",
      ["environment", "credential"],
      ofCredentials(({ lastUsedMs }, from) => toSeconds(from, lastUsedMs)),
    ),
    active: gauge(
      "countersign_credential_active",
      "1 for the set of a site that is in use, else 0; 0 for all while token requests fail and no token is left.",
      ["environment", "credential"],
      ofCredentials(({ isActive }) => (isActive ? 1 : 0)),
    ),
    credentialInfo: gauge(
      "countersign_credential_info",
      "Always 1; a configured set by its position at its site: first or second.",
      ["environment", "credential", "position"],
      credentialInfo,
    ),
    assertionExpiry: gauge(
      "countersign_assertion_expiry_timestamp_seconds",
      "When the assertion in the file of a set expires, read at each scrape; 0 while there is none that could be sent.",
      ["environment", "credential"],
      assertionExpiry,
    ),
    sites: gauge("countersign_sites", "Sites that are served, children included.", ["environment"], (from) =>
      from.configured().environments.map(({ name, sites }) => [{ environment: name }, sites.size]),
    ),
    siteFilesRefused: gauge(
      "countersign_site_files_refused",
      "Files of single sites that are refused.",
      ["environment"],
      (from) =>
        from.configured().environments.map(({ name, siteFolder }) => {
          return [{ environment: name }, siteFolder?.refused.length ?? 0];
        }),
    ),
    tokenCache: counter("countersign_token_cache_total", "Look-ups of a token by tier and result.", ["tier", "result"]),
    refreshLock: counter("countersign_refresh_lock_total", "Tries for the refresh lock by result.", ["result"]),
    refreshSuppressed: counter(
      "countersign_refresh_suppressed_total",
      "Refreshes after a 401 that were not made, by reason.",
      ["environment", "credential", "reason"],
    ),
    redisUp: gauge(
      "countersign_redis_up",
      "1 while Redis does what the scripts need; node is cache, claims with once.durability, or lock-2, lock-3, ….",
      ["node"],
      (from) => from.redis().map(({ node, isUp }) => [{ node }, isUp ? 1 : 0]),
    ),
    redisErrors: counter("countersign_redis_errors_total", "Redis commands that failed, logins included, by kind.", [
      "node",
      "kind",
    ]),
    redisEvictedKeys: counter(
      "countersign_redis_evicted_keys_total",
      "Keys that Redis dropped since it was full, as this process saw it; all processes see the same.",
      ["node"],
    ),
    traceSpans: counter("countersign_trace_spans_total", "Spans of tracing by what became of them.", ["result"]),
    connections: gauge(
      "countersign_connections",
      "Open connections of a listener.",
      ["listener"],
      ofListeners((open) => open),
    ),
    connectionsLimit: gauge(
      "countersign_connections_limit",
      "Connections that a listener serves at once.",
      ["listener"],
      ofListeners((_, from) => from.configured().limits.connections),
    ),
    certificateExpiry: gauge(
      "countersign_certificate_expiry_timestamp_seconds",
      "When the first certificate of a file expires. listener is none towards the service.",
      ["environment", "listener", "use"],
      createCertificateExpiry(),
    ),
    logLinesDropped: new Counter({
      name: "countersign_log_lines_dropped_total",
      help: "Log lines that were not written, since standard output was not read or a disk was full.",
      registers,
      collect() {
        this.reset();
        this.inc(source?.droppedLogLines() ?? 0);
      },
    }),
    clockSkews,
    clockSkew: gauge(
      "countersign_clock_skew_seconds",
      "Our clock minus the service's, by its last Date.",
      ["environment"],
      (from) =>
        from.configured().environments.flatMap(({ name: environment }): Sample<"environment">[] => {
          const seconds = clockSkews.get(environment);
          return seconds === undefined ? [] : [[{ environment }, seconds]];
        }),
    ),
    configReloads: counter("countersign_config_reloads_total", "Configurations read after the start, by result.", [
      "result",
    ]),
    lastReloadSuccessful: figure(
      "countersign_config_last_reload_successful",
      "0 while the files hold a configuration that was refused, else 1.",
      (from) => (from.reload().lastRefused?.isPending ? 0 : 1),
    ),
    lastReloadSuccess: figure(
      "countersign_config_last_reload_success_timestamp_seconds",
      "When the active configuration was applied.",
      (from) => {
        const { inForceSince } = from.reload();
        return inForceSince === undefined ? 0 : Date.parse(inForceSince) / 1_000;
      },
    ),
    configInfo: gauge(
      "countersign_config_info",
      "Always 1; the active configuration by its hash.",
      ["hash"],
      (from) => [[{ hash: from.configured().hash }, 1]],
    ),
    buildInfo: gauge("countersign_build_info", "Always 1; version and Node.js version.", ["version", "node"], () => [
      [{ version, node: process.version }, 1],
    ]),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/** In seconds. */
export const answerBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30];
const waitBuckets = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const overheadBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
