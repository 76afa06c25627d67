import { assemble, type Row } from "./assemble.ts";
import { curves, list } from "./panel.ts";
import { aboveZero, counted, inEnvironment, ofCredential, quantile, rate } from "./promql.ts";
import { sharing } from "./sharing.ts";
import { cluster, credential, datasource, environment, job, namespace, site } from "./variables.ts";

const requests = "countersign_token_requests_total";

const life: Row = {
  title: "Tokens",
  height: 8,
  panels: [
    curves({
      title: "Tokens issued in the last hour",
      description:
        "By credential set, over all pods. A token of a day, shared over Redis, is issued once in 19 to 21 hours.",
      unit: "short",
      decimals: 0,
      width: 8,
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
        "Of the oldest token in use by any pod. It falls to 12 to 20 % of the life and jumps up again; tokens that are not used fall to the end and vanish.",
      unit: "s",
      width: 8,
      queries: [
        [
          `min by (environment, credential) (countersign_token_expiry_timestamp_seconds{${ofCredential}}) - time()`,
          "{{credential}} {{environment}}",
        ],
      ],
    }),
    list({
      title: "Last use",
      description:
        "How long ago a token of each credential set was last attached to a request. A set that is not used may be deleted.",
      unit: "s",
      decimals: 0,
      width: 8,
      valueName: "ago",
      queries: [
        [
          `sort(time() - max by (environment, credential) (countersign_credential_last_used_timestamp_seconds{${ofCredential}}))`,
          "",
        ],
      ],
    }),
  ],
};

const loginHost: Row = {
  title: "Authorization server",
  height: 8,
  panels: [
    curves({
      title: "Token requests by result",
      description:
        "What the authorization server answers. Refused: wrong or deleted credentials. Throttled: 429. Runbooks: Tokens are refused, The authorization server throttles.",
      unit: "reqps",
      width: 8,
      queries: [
        [
          aboveZero(`sum by (credential, result) (${rate(requests, ofCredential)})`, "result", "no requests"),
          "{{credential}} {{result}}",
        ],
      ],
    }),
    curves({
      title: "Authorization server, p99",
      description:
        "How long the authorization server took to answer token requests. No request waits for it while a token lives.",
      unit: "s",
      width: 8,
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
        "Refreshes after a 401 that were not made. Paused: the site's last new token was refused too. Limited: three refreshes of the set cured nothing within a minute. Runbook: 401s rise.",
      unit: "ops",
      width: 8,
      queries: [
        [
          aboveZero(
            `sum by (credential, reason) (${rate("countersign_refresh_suppressed_total", ofCredential)})`,
            "reason",
            "none",
          ),
          "{{credential}} {{reason}}",
        ],
      ],
    }),
  ],
};

export const tokens = assemble(
  "Countersign: tokens",
  "countersign-tokens",
  "Who got a token when and why, and how pods share them.",
  [datasource(), cluster(), namespace(), job(), environment(), site(), credential()],
  [life, loginHost, sharing],
);
