import { assemble, type Row } from "./assemble.ts";
import { bars, curves, list } from "./panel.ts";
import {
  counted,
  events,
  inEnvironment,
  inJob,
  ofCredential,
  ofSite,
  quantile,
  rate,
  withApplications,
  withNames,
} from "./promql.ts";

const requests = "countersign_token_requests_total";

const life: Row = {
  title: "Tokens",
  panels: [
    curves({
      title: "Tokens issued in the last hour",
      description:
        "By credential set, over all pods. A token of a day, shared over Redis, is issued once in 19 to 21 hours.",
      alerts: ["CountersignTokensAboveExpected"],
      unit: "short",
      decimals: 0,
      queries: [
        [
          `sum by (environment, credential) (${counted(requests, `${ofCredential}, result="issued"`, 1)})`,
          "{{credential}} {{environment}}",
        ],
      ],
    }),
    curves({
      title: "Time to expiry",
      description:
        "Of the oldest token in use by any pod. It falls to 12 to 20 % of the life and jumps up again; below 0 it has expired, and one that is not used vanishes an hour later.",
      alerts: ["CountersignTokenExpiresSoon", "CountersignRefreshFails"],
      unit: "s",
      mayBeNegative: true,
      queries: [
        [
          withApplications(
            `min by (cluster, namespace, job, environment, credential) (last_over_time(countersign_token_expiry_timestamp_seconds{${ofCredential}}[1h]) and on (cluster, namespace, job, instance) countersign_build_info{${inJob}}) - time()`,
          ),
          "{{application}} {{credential}} {{environment}}",
        ],
      ],
    }),
    list({
      title: "Last use",
      description:
        "How long ago a token of each credential set was last attached to a request. A set that is not used may be deleted.",
      unit: "s",
      decimals: 0,
      valueName: "ago",
      queries: [
        [
          `sort(time() - max by (cluster, namespace, job, environment, credential) (countersign_credential_last_used_timestamp_seconds{${ofCredential}}))`,
          "",
        ],
      ],
    }),
  ],
};

const loginHost: Row = {
  title: "Authorization server",
  panels: [
    curves({
      title: "Token requests by result",
      description: "What the authorization server answers. Refused: wrong or deleted credentials. Throttled: 429.",
      alerts: ["CountersignSetRefused", "CountersignCredentialsRefused", "CountersignLoginThrottled"],
      unit: "reqps",
      queries: [events(requests, ofCredential, ["credential", "result"], { none: "no requests" })],
    }),
    curves({
      title: "Authorization server, p99",
      description:
        "How long the authorization server took to answer token requests. No request waits for it while a token is valid.",
      unit: "s",
      queries: [
        [
          quantile(0.99, "countersign_token_request_duration_seconds", inEnvironment, ["environment"]),
          "{{environment}}",
        ],
      ],
    }),
    curves({
      title: "Refreshes suppressed",
      description:
        "Refreshes after a 401 that were not made. Paused: the site's last refreshes were useless. Limited: its budget is spent, or one for another site of the set was useless a moment ago.",
      alerts: ["CountersignUnauthorizedAgain"],
      unit: "ops",
      queries: [events("countersign_refresh_suppressed_total", ofCredential, ["credential", "reason"])],
    }),
    curves({
      title: "Signed instead (bridge)",
      description:
        "Orders that were signed since their site had no token (`bridge: hmac`), by the failure that this avoided. Callers notice nothing.",
      alerts: ["CountersignBridgeActive"],
      unit: "reqps",
      queries: [events("countersign_bridged_total", ofSite, ["site", "reason"])],
    }),
  ],
};

/** All pods of an application see the same. */
const evictions = rate("countersign_redis_evicted_keys_total", inJob);

const sharing: Row = {
  title: "Sharing",
  panels: [
    bars({
      title: "Credential sets in use",
      description:
        "Pods that use each set; the second of a site serves while the authorization server refuses the first.",
      alerts: ["CountersignSetRefused", "CountersignSecondSetInUse"],
      unit: "short",
      width: 6,
      queries: [
        [
          `sum by (environment, credential, position) (countersign_credential_active{${ofCredential}} * on (cluster, namespace, job, instance, environment, credential) group_left (position) countersign_credential_info{${ofCredential}})`,
          "{{credential}} {{environment}} {{position}}",
        ],
      ],
    }),
    curves({
      title: "Refresh lock",
      description:
        "Tries for the lock that lets one pod refresh. Held: another one is doing it. Unavailable: Redis did not answer, so every pod does it itself.",
      unit: "ops",
      width: 6,
      queries: [[`sum by (result) (${rate("countersign_refresh_lock_total", inJob)})`, "{{result}}"]],
    }),
    curves({
      title: "Token cache",
      description:
        "Look-ups of a token by tier and result. Unreadable: it was sealed with a key that the pod does not have, or is damaged.",
      unit: "ops",
      width: 6,
      queries: [[`sum by (tier, result) (${rate("countersign_token_cache_total", inJob)})`, "{{tier}} {{result}}"]],
    }),
    curves({
      title: "Redis",
      description:
        "Share of the pods that get answers from Redis, by node; each that gets none has a line at 0. Without it each pod keeps tokens of its own; orders with a key (Countersign-Once) and callbacks with `replay: strict` get 503.",
      alerts: ["CountersignRedisDown"],
      unit: "percentunit",
      width: 6,
      steps: ["red", [1, "transparent"]],
      queries: [
        [`avg by (node) (countersign_redis_up{${inJob}})`, "{{node}}"],
        [withNames(`countersign_redis_up{${inJob}} == 0`), "{{node}} {{name}}"],
      ],
    }),
    curves({
      title: "Redis errors and evictions",
      description:
        "Redis commands that failed, logins included, by node and kind; and keys that a full Redis dropped: an order whose key was dropped can be sent again.",
      alerts: ["CountersignRedisDown", "CountersignRedisEvicts"],
      unit: "ops",
      width: 12,
      queries: [
        events("countersign_redis_errors_total", inJob, ["node", "kind"], { none: "no errors" }),
        [`sum by (node) (max by (cluster, namespace, job, node) (${evictions}))`, "{{node}} keys dropped"],
      ],
    }),
    curves({
      title: "Clock skew",
      description:
        "Our clock minus the service's, by the Date of its last answer to each pod; the furthest off. Signed requests are refused when it grows.",
      alerts: ["CountersignClockSkew"],
      unit: "s",
      width: 12,
      mayBeNegative: true,
      queries: [
        [`max by (environment) (countersign_clock_skew_seconds{${inEnvironment}})`, "{{environment}}, most ahead"],
        [`min by (environment) (countersign_clock_skew_seconds{${inEnvironment}})`, "{{environment}}, most behind"],
      ],
    }),
  ],
};

export const tokens = assemble(
  "Countersign: tokens",
  "countersign-tokens",
  "Who got a token when and why, and how pods share them.",
  [life, loginHost, sharing],
);
