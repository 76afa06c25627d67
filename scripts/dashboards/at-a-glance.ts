import type { Row } from "./assemble.ts";
import { logsOfUnknownOutcomes } from "./logs-link.ts";
import { bars, bigNumber } from "./panel.ts";
import { counted, inEnvironment, inJob, ofCredential, ofSite, ownFailure, share } from "./promql.ts";

const width = 3;
const requests = "countersign_requests_total";

const unknownOutcomes = bigNumber({
  title: "Outcomes unknown, 24 h",
  description:
    "Requests that were written to the service and got no complete answer: their orders may exist. Click for the log lines; each has its reference. /status of each pod lists them too. Runbook: Outcome unknown.",
  unit: "short",
  decimals: 0,
  width,
  steps: ["green", [0.5, "red"]],
  queries: [[`sum(${counted("countersign_unknown_outcomes_total", ofSite, 24)})`, "unknown"]],
  link: { title: "Log lines with outcome unknown", url: logsOfUnknownOutcomes() },
});

const ourFailures = bigNumber({
  title: "Our failures",
  description:
    "Share of requests in the last 5 minutes that Countersign itself answered with 5xx. Not the service's answers, and not callers' mistakes. A page goes out at 5 %. Runbook: Requests fail.",
  unit: "percentunit",
  decimals: 2,
  width,
  noValue: "no traffic",
  steps: ["green", [0.001, "yellow"], [0.05, "red"]],
  queries: [
    [
      share(`sum(rate(${requests}{${ofSite}, ${ownFailure}}[5m]))`, `sum(rate(${requests}{${ofSite}}[5m]))`),
      "our failures",
    ],
  ],
});

const answers = `sum by (site) (rate(${requests}{${ofSite}, by="service"}[5m]))`;
const badAnswers = `sum by (site) (rate(${requests}{${ofSite}, by="service", status=~"[45].."}[5m]))`;
const serviceAnswers = bars({
  title: "Service's answers ≥ 400",
  description:
    "Share of the service's own answers with status 400 or above in the last 5 minutes, by site; the eight worst. Countersign passes them on untouched.",
  unit: "percentunit",
  decimals: 1,
  width,
  max: 1,
  noValue: "no traffic",
  steps: ["green", [0.05, "yellow"], [0.2, "red"]],
  // A site without such answers has no series of them, and its share is 0.
  queries: [[`topk(8, ${share(badAnswers, answers)})`, "{{site}}"]],
});

const traffic = bigNumber({
  title: "Requests",
  description: "Requests a second by environment in the last 5 minutes, by service and Countersign together.",
  unit: "reqps",
  width,
  queries: [[`sum by (environment) (rate(${requests}{${ofSite}}[5m]))`, "{{environment}}"]],
});

const overhead = bigNumber({
  title: "Our overhead, p99",
  description:
    "What Countersign itself added to requests in the last 5 minutes: without the service, the wait for a token and the caller's sending. Of all sites of the environment.",
  unit: "s",
  decimals: 1,
  width,
  noValue: "no traffic",
  steps: ["green", [0.01, "yellow"], [0.05, "red"]],
  // Absent where nothing was observed, instead of 0 / 0.
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
    "Time left to the token that ends first, of those that were used within their lifetime; tokens of idle pods may lapse. 0 where one was used in the last minute and there is none now. Replaced at 80 to 88 % of its life, so it hardly falls below a tenth. Runbook: No valid token.",
  unit: "s",
  decimals: 0,
  width,
  noValue: "none in use",
  steps: ["red", [1, "green"]],
  queries: [
    [
      `bottomk(1, min by (environment, credential) (${left} - time() and time() - ${usedAt} < ${left} - ${issuedAt} ` +
        `or 0 * ${usedAt} and time() - ${usedAt} < 60 and countersign_credential_active{${ofCredential}} == 1 unless ${left}))`,
      "{{credential}}",
    ],
  ],
});

const issued = bigNumber({
  title: "Tokens issued, 24 h",
  description:
    "Tokens that the authorization server issued, against the most that lifetimes and starting pods explain: one refresh at 80 % of each life, shared by all pods over Redis, and one for each pod that starts without it. Needs the recording rule of rules.yaml. Runbook: Too many tokens.",
  unit: "short",
  decimals: 0,
  width,
  queries: [
    [`sum(${counted("countersign_token_requests_total", `${ofCredential}, result="issued"`, 24)})`, "issued"],
    [
      `ceil(sum(15 * sum_over_time(countersign:tokens_expected:per_second{${ofCredential}}[24h:15s])) + ${startsWithoutRedis()})`,
      "expected, at most",
    ],
  ],
});

const pods = bigNumber({
  title: "Pods",
  description:
    "Pods that use each credential set, and pods by the hash of their configuration. More than one hash for longer than a roll-out or a reload: some pods have not taken the change up.",
  unit: "short",
  width,
  queries: [
    [`count by (credential) (countersign_credential_active{${ofCredential}} == 1)`, "{{credential}}"],
    [`count by (hash) (countersign_config_info{job=~"$job"})`, "configuration {{hash}}"],
  ],
});

/** First tokens of processes that started within the day and share none: one for each first set. */
function startsWithoutRedis(): string {
  const starts = `changes(process_start_time_seconds{job=~"$job"}[24h])`;
  const young = `(last_over_time(process_start_time_seconds{job=~"$job"}[24h]) > bool time() - 86400)`;
  const withoutRedis = `unless on (cluster, namespace, job, instance) last_over_time(countersign_redis_up{${inJob}}[24h])`;
  const firstSets = `last_over_time(countersign_credential_info{${ofCredential}, position="first"}[24h])`;
  return `(sum(${firstSets} * on (cluster, namespace, job, instance) group_left () (${starts} + ${young}) ${withoutRedis}) or vector(0))`;
}

export const atAGlance: Row = {
  title: "At a glance",
  height: 6,
  panels: [unknownOutcomes, ourFailures, serviceAnswers, traffic, overhead, shortestLife, issued, pods],
};
