import { assemble, type Row } from "./assemble.ts";
import { bars, bigNumber, curves, list } from "./panel.ts";
import {
  aboveZero,
  counted,
  events,
  inEnvironment,
  inJob,
  inNamespace,
  ofAllPods,
  ofCredential,
  ofSite,
  ownFailure,
  quantile,
  rate,
  share,
  withApplications,
  withNames,
} from "./promql.ts";

const requests = "countersign_requests_total";
/** Grafana replaces this with the data source's uid, so it must not be encoded. */
const logs = "$logs";

const unknownOutcomes = bigNumber({
  title: "Outcomes unknown, 24 h",
  description:
    "Requests that were written to the service and got no complete answer, or a 5xx: their orders may exist. Click for the log lines; each has its reference. /status of each pod lists them too. Those that somebody has settled since still count.",
  alerts: ["CountersignOutcomeUnknown"],
  unit: "short",
  decimals: 0,
  steps: ["green", [0.5, "red"]],
  queries: [[`sum(${counted("countersign_unknown_outcomes_total", ofSite, 24)})`, "unknown"]],
  link: { title: "Log lines with outcome unknown", url: logsOfUnknownOutcomes() },
});

/** As CountersignFailures counts. */
const application = "cluster, namespace, job, environment";
const ourFailures = bigNumber({
  title: "Our failures",
  description:
    "Share of requests in the last 5 minutes that Countersign itself answered with 5xx, of the application and environment where it is highest. Not the service's answers, and not callers' mistakes. A page goes out at 5 %.",
  alerts: ["CountersignFailures"],
  unit: "percentunit",
  decimals: 2,
  noValue: "no traffic",
  steps: ["green", [0.001, "yellow"], [0.05, "red"]],
  queries: [
    [
      `max(${share(`sum by (${application}) (rate(${requests}{${ofSite}, ${ownFailure}}[5m]))`, `sum by (${application}) (rate(${requests}{${ofSite}}[5m]))`)})`,
      "our failures",
    ],
  ],
});

const answers = `sum by (cluster, namespace, job, site) (rate(${requests}{${ofSite}, by="service"}[5m]))`;
/** No redirect is followed, so 3xx to an order is a failure; the operation of a pass-through route begins with /. */
const serviceFailures = ['by="service", status=~"[45].."', 'by="service", status=~"3..", operation!~"/.*"'];
const failedAnswers = `sum by (cluster, namespace, job, site) (${ratesOf(serviceFailures, "5m")})`;
const serviceAnswers = bars({
  title: "Service's failures",
  description:
    "Share of the service's own answers with status 400 or above, or to orders with 3xx, in the last 5 minutes, by application and site; the eight worst. Countersign passes them on untouched.",
  alerts: [
    "CountersignServiceFails",
    "CountersignSiteFails",
    "CountersignServiceFailsOften",
    "CountersignRequestsRefused",
  ],
  unit: "percentunit",
  decimals: 1,
  max: 1,
  noValue: "no traffic",
  steps: ["green", [0.05, "yellow"], [0.2, "red"]],
  // A site without failures has no series for them: its share is 0.
  queries: [[withApplications(`topk(8, ${share(failedAnswers, answers)})`), "{{application}} {{site}}"]],
});

const traffic = bigNumber({
  title: "Requests",
  description: "Requests a second by environment in the last 5 minutes, by service and Countersign together.",
  unit: "reqps",
  queries: [[`sum by (environment) (rate(${requests}{${ofSite}}[5m]))`, "{{environment}}"]],
});

const overhead = bigNumber({
  title: "Our overhead, p99",
  description:
    "What Countersign itself added to requests in the last 5 minutes: without its waits for the service, a token, Redis and the caller. Of all sites of the environment.",
  unit: "s",
  decimals: 1,
  noValue: "no traffic",
  steps: ["green", [0.01, "yellow"], [0.05, "red"]],
  // Absent if nothing was observed, instead of 0 / 0.
  queries: [
    [
      `histogram_quantile(0.99, sum by (le) (rate(countersign_overhead_seconds_bucket{${inEnvironment}}[5m]))) >= 0`,
      "p99",
    ],
  ],
});

const left = `countersign_token_expiry_timestamp_seconds{${ofCredential}}`;
const issuedAt = `countersign_token_issued_timestamp_seconds{${ofCredential}}`;
const usedAt = `countersign_credential_last_used_timestamp_seconds{${ofCredential}}`;
const shortestLife = bigNumber({
  title: "Shortest token life",
  description:
    "Time left to the token that ends first, of those that were used within their lifetime; tokens of idle pods may lapse. 0 for a site whose requests have failed in the last two minutes since it has none. A token that the service refuses (401) still counts. Replaced at 80 to 88 % of its life, so it hardly falls below a tenth.",
  alerts: ["CountersignNoValidToken", "CountersignCredentialsRefused", "CountersignTokenExpiresSoon"],
  unit: "s",
  decimals: 0,
  noValue: "none in use",
  steps: ["red", [1, "green"]],
  queries: [
    [
      `bottomk(1, min by (environment, credential, site) (${left} - time() and time() - ${usedAt} < ${left} - ${issuedAt} ` +
        `or 0 * (increase(countersign_failures_total{${ofSite}, code=~"token_unavailable|credentials_refused"}[2m]) > 0)))`,
      "{{credential}}{{site}}",
    ],
  ],
});

/** The tokens to expect are of all pods: one that is shared over Redis belongs to no pod. */
const ofChosenSets = `${ofAllPods}, environment=~"$environment", credential=~"$credential"`;
const issued = bigNumber({
  title: "Tokens issued, 24 h",
  description:
    "Tokens that the authorization server issued, against the most that lifetimes and starting pods explain: for each set a first token and one refresh at 80 % of each life, shared by all pods over Redis, and one more for each process that could not share all day. Expected are those of all pods, even if one is chosen. Needs the recording rule of rules.yaml.",
  alerts: ["CountersignTokensAboveExpected"],
  unit: "short",
  decimals: 0,
  queries: [
    [`sum(${counted("countersign_token_requests_total", `${ofCredential}, result="issued"`, 24)})`, "issued"],
    [
      `sum(floor(15 * sum_over_time(countersign:tokens_expected:per_second{${ofChosenSets}}[24h:15s])) + 1) + ${keptByProcesses()}`,
      "expected, at most",
    ],
  ],
});

const pods = bigNumber({
  title: "Pods",
  description:
    "Pods that use each credential set of an environment, and pods by the hash of their configuration. More than one hash for longer than a roll-out or a reload: some pods have not taken the change up.",
  alerts: ["CountersignMetricsAbsent"],
  unit: "short",
  noValue: "no metrics",
  queries: [
    [
      `count by (environment, credential) (countersign_credential_active{${ofCredential}} == 1)`,
      "{{credential}} {{environment}}",
    ],
    [`count by (hash) (countersign_config_info{${inJob}})`, "configuration {{hash}}"],
  ],
});

/** One token more for each process and first set, if its tokens were not shared all the time. */
function keptByProcesses(): string {
  const starts = `(changes(process_start_time_seconds{${ofAllPods}}[24h]) + 1)`;
  const withoutRedis = `unless on (cluster, namespace, job, instance) min_over_time(countersign_redis_up{${ofAllPods}, node="cache"}[24h]) == 1`;
  const firstSets = `last_over_time(countersign_credential_info{${ofChosenSets}, position="first"}[24h])`;
  return `(sum(${firstSets} * on (cluster, namespace, job, instance) group_left () ${starts} ${withoutRedis}) or vector(0))`;
}

const atAGlance: Row = {
  title: "At a glance",
  height: 6,
  panels: [unknownOutcomes, ourFailures, serviceAnswers, traffic, overhead, shortestLife, issued, pods],
};

const firing: Row = {
  title: "Alerts and Redis",
  height: 6,
  panels: [
    list({
      title: "Alerts that fire",
      description: "Alerts on the chosen applications that fire now. Each has a page in docs/alerts.",
      unit: "short",
      width: 18,
      valueName: "Value",
      hidden: ["__name__", "alertstate", "Value"],
      queries: [
        [
          `sort_desc(ALERTS{alertname=~"Countersign.+", alertstate="firing", ${inNamespace}, job=~"$job|", environment=~"$environment|"})`,
          "",
        ],
      ],
    }),
    bigNumber({
      title: "Pods without Redis",
      description:
        "By node. They keep tokens of their own; orders with a key (Countersign-Once) and callbacks with `replay: strict` get 503. The dashboard of tokens names them.",
      alerts: ["CountersignRedisDown"],
      unit: "short",
      width: 6,
      noValue: "no Redis",
      steps: ["green", [1, "red"]],
      queries: [[`sum by (node) (1 - countersign_redis_up{${inJob}})`, "{{node}}"]],
    }),
  ],
};

/** Link to Grafana's Explore: the day's log lines with an unknown outcome, in the Loki that the variable `logs` names. */
function logsOfUnknownOutcomes(): string {
  const expr = '{container="countersign"} |= `"level":"error"` |= `"outcome":"unknown"`';
  const pane = { datasource: logs, queries: [{ refId: "A", expr }], range: { from: "now-24h", to: "now" } };
  const panes = encodeURIComponent(JSON.stringify({ unknown: pane })).replace(encodeURIComponent(logs), logs);
  return `/explore?schemaVersion=1&panes=${panes}`;
}

/** The rates of requests of the sites that are shown, of each of these kinds. */
function ratesOf(kinds: readonly string[], interval?: string): string {
  return kinds.map((kind) => rate(requests, `${ofSite}, ${kind}`, interval)).join(" or ");
}

/** `pod` is the Prometheus Operator's label, by which alerts name pods. */
const ofPods = `sum by (namespace, instance, pod, environment) (${rate(requests, ofSite)})`;
const anyFailure = [ownFailure, ...serviceFailures];

const failures: Row = {
  title: "Failures",
  panels: [
    curves({
      title: "Failures by code and outcome",
      description:
        "Requests that Countersign failed to serve. Unknown: look before it is repeated. Not sent: it may be sent again. The codes are explained in docs/reference/errors.md.",
      alerts: ["CountersignFailures", "CountersignOutcomeUnknown"],
      unit: "reqps",
      isStacked: true,
      queries: [
        events("countersign_failures_total", ofSite, ["code", "outcome"], { none: "no failures", label: "code" }),
      ],
    }),
    curves({
      title: "Failures by pod",
      description:
        "Share of each pod's requests to an environment that Countersign failed with 5xx, or that the service answered with 400 or above, or orders with 3xx. One pod far above the others: look at its node and network.",
      alerts: ["CountersignFailures", "CountersignServiceFails"],
      unit: "percentunit",
      queries: [
        [
          aboveZero(
            withNames(
              `sum by (namespace, instance, pod, environment, by) (${ratesOf(anyFailure)}) / on (namespace, instance, pod, environment) group_left () ${ofPods}`,
            ),
            "by",
            "no failures",
          ),
          "{{name}} {{environment}} {{by}}",
        ],
      ],
    }),
    list({
      title: "Where requests fail",
      description:
        "Requests in the last 5 minutes that Countersign failed with 5xx, or that the service answered with 400 or above, or orders with 3xx, by application, environment and site; the ten worst.",
      alerts: ["CountersignFailures", "CountersignSiteFails"],
      unit: "short",
      decimals: 0,
      valueName: "failed",
      queries: [
        [`topk(10, 300 * sum by (cluster, namespace, job, environment, site) (${ratesOf(anyFailure, "5m")}) > 0)`, ""],
      ],
    }),
    curves({
      title: "Answers by status",
      description: "What callers get, by status and by who answered: the service, or Countersign itself.",
      unit: "reqps",
      isStacked: true,
      queries: [
        events("countersign_requests_total", ofSite, ["by", "status"], {
          none: "no requests",
          legend: "{{status}} {{by}}",
        }),
      ],
    }),
  ],
};

const latency: Row = {
  title: "Latency",
  panels: [
    durations(
      "Whole request",
      "countersign_request_duration_seconds",
      "From the complete request head to the end of the answer.",
    ),
    durations(
      "The service's share",
      "countersign_upstream_duration_seconds",
      "All attempts, from connecting to the end of the answer. When this grows, tell the service's owner.",
      ["CountersignServiceSlow"],
    ),
    durations(
      "Our overhead",
      "countersign_overhead_seconds",
      "What Countersign itself adds: without its waits for the service, a token, Redis and the caller.",
    ),
  ],
};

function durations(title: string, metric: string, description: string, alerts: readonly string[] = []) {
  return curves({
    title,
    description: `${description} Of all sites of the environment, idle times left out.`,
    alerts,
    unit: "s",
    queries: [
      [quantile(0.5, metric, inEnvironment, ["environment"]), "p50 {{environment}}"],
      [quantile(0.99, metric, inEnvironment, ["environment"]), "p99 {{environment}}"],
    ],
  });
}

const unauthorized: Row = {
  title: "401s",
  panels: [
    curves({
      title: "401s by attempt",
      description:
        "Answers 401 of the service. Attempt 1 with OAuth: the token was refused, mostly since it was revoked, and the request was sent again with a new one. Attempt 2: the new one was refused too. With HMAC there is one attempt: the signature was not accepted.",
      alerts: ["CountersignUnauthorized", "CountersignUnauthorizedAgain"],
      unit: "reqps",
      queries: [
        events("countersign_upstream_unauthorized_total", ofSite, ["site", "auth", "attempt"], {
          legend: "{{site}} {{auth}} attempt {{attempt}}",
        }),
      ],
    }),
    curves({
      title: "401s with OAuth by result",
      description:
        "Cured: the retry with a new token was no 401. Refused: it was. Not possible: no new token was available, and the first 401 was passed on. Failed: the retry got no answer.",
      alerts: ["CountersignUnauthorizedAgain"],
      unit: "reqps",
      queries: [events("countersign_retries_total", ofSite, ["result"])],
    }),
  ],
};

const callbacks: Row = {
  title: "Callbacks",
  panels: [
    curves({
      title: "Callbacks by result",
      description:
        "What the service sent to listeners for callbacks. Delivered: the application accepted the callback. Declined: it answered no 2xx. Repeated: it had accepted it before. The other results say why the application did not get it.",
      alerts: ["CountersignCallbacksNotTaken", "CountersignCallbacksNotGenuine", "CountersignCallbacksTooOld"],
      unit: "reqps",
      isStacked: true,
      queries: [
        events("countersign_callbacks_total", `${inEnvironment}, site=~"$site|none"`, ["result"], {
          none: "no callbacks",
        }),
      ],
    }),
    curves({
      title: "Callbacks that may come twice",
      description:
        "Earlier deliveries were not known, or could not be recorded: these callbacks were handed over, and may be handed over again. Of all sites of the environment.",
      alerts: ["CountersignCallbacksUnguarded"],
      unit: "reqps",
      queries: [events("countersign_callbacks_unguarded_total", inEnvironment, ["environment"])],
    }),
  ],
};

const refusals = `sum by (caller, code) (${rate("countersign_caller_refusals_total", inJob)})`;
const unknown = `${inEnvironment}, code=~"caller_not_known|caller_not_authenticated"`;
const strangers = `sum by (code) (${rate("countersign_failures_total", unknown)})`;

const further: Row = {
  title: "Callers, each request once, pass-through",
  panels: [
    curves({
      title: "Callers refused",
      description:
        "By the caller's name: it has no right to what it asks for, or asks too often. Without a name: a certificate or a token that no caller has.",
      alerts: ["CountersignCallerRefused", "CountersignCallersUnknown"],
      unit: "reqps",
      isStacked: true,
      queries: [[aboveZero(`(${refusals} or ${strangers})`, "code", "none"), "{{caller}} {{code}}"]],
    }),
    curves({
      title: "Requests with Countersign-Once",
      description:
        "Recorded: sent, and its end is known to all replicas. Freed: not sent. Unrecorded: its end could not be written. Already sent, in progress, key reused: refused, since the key was used. Unavailable: refused, since Redis took no key.",
      alerts: ["CountersignOnceUnavailable", "CountersignOnceUnrecorded"],
      unit: "reqps",
      isStacked: true,
      queries: [events("countersign_once_total", inEnvironment, ["result"])],
    }),
    curves({
      title: "Pass-through routes by status",
      description:
        "By the route's prefix. A stream or a WebSocket is counted when it ends; 101 is a WebSocket. 499: the caller left before there was an answer.",
      unit: "reqps",
      isStacked: true,
      queries: [
        events("countersign_requests_total", `${ofSite}, operation=~"/.+"`, ["operation", "status"], {
          label: "operation",
        }),
      ],
    }),
  ],
};

export const overview = assemble(
  "Countersign: overview",
  "countersign-overview",
  "Whether orders go through, at a glance, and where they fail.",
  [atAGlance, firing, failures, latency, unauthorized, callbacks, further],
  true,
);
