import type { Row } from "./assemble.ts";
import { bars, curves } from "./panel.ts";
import { aboveZero, inEnvironment, inJob, ofCredential, rate } from "./promql.ts";

export const sharing: Row = {
  title: "Sharing",
  height: 8,
  panels: [
    bars({
      title: "Credential sets in use",
      description:
        "Pods that use each set; the second of a site serves while the authorization server refuses the first. Runbook: Tokens are refused.",
      unit: "short",
      width: 6,
      queries: [
        [
          `sum by (credential, position) (countersign_credential_active{${ofCredential}} * on (cluster, namespace, job, instance, environment, credential) group_left (position) countersign_credential_info{${ofCredential}})`,
          "{{credential}} {{position}}",
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
        "Share of the pods that get answers from Redis, by node. Without it each pod keeps tokens of its own, and no request fails. Runbook: Redis is down.",
      unit: "percentunit",
      width: 6,
      steps: ["red", [1, "transparent"]],
      queries: [[`avg by (node) (countersign_redis_up{${inJob}})`, "{{node}}"]],
    }),
    curves({
      title: "Redis errors",
      description: "Redis commands that failed, by node and kind; each counts as a miss and fails no request.",
      unit: "ops",
      width: 12,
      queries: [
        [
          aboveZero(`sum by (node, kind) (${rate("countersign_redis_errors_total", inJob)})`, "kind", "no errors"),
          "{{node}} {{kind}}",
        ],
      ],
    }),
    curves({
      title: "Clock skew",
      description:
        "Our clock minus the service's, by the Date of its last answer to each pod; the furthest off. Signed requests are refused when it grows. Runbook: The clock is wrong.",
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
