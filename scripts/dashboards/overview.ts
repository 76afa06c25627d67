import { assemble, type Row } from "./assemble.ts";
import { atAGlance } from "./at-a-glance.ts";
import { curves } from "./panel.ts";
import { aboveZero, inEnvironment, inJob, ofSite, quantile, rate } from "./promql.ts";
import { cluster, credential, datasource, environment, job, logs, namespace, site } from "./variables.ts";

const failures: Row = {
  title: "Failures",
  height: 8,
  panels: [
    curves({
      title: "Failures by code and outcome",
      description:
        "Requests that Countersign failed to serve. Unknown: look before it is repeated. Not sent: it may be sent again. The codes are explained in docs/reference/errors.md.",
      unit: "reqps",
      width: 12,
      isStacked: true,
      queries: [
        [
          aboveZero(`sum by (code, outcome) (${rate("countersign_failures_total", ofSite)})`, "code", "no failures"),
          "{{code}} {{outcome}}",
        ],
      ],
    }),
    curves({
      title: "Answers by status",
      description: "What callers get, by status and by who answered: the service, or Countersign itself.",
      unit: "reqps",
      width: 12,
      isStacked: true,
      queries: [
        [
          aboveZero(`sum by (by, status) (${rate("countersign_requests_total", ofSite)})`, "status", "no requests"),
          "{{status}} {{by}}",
        ],
      ],
    }),
  ],
};

const latency: Row = {
  title: "Latency",
  height: 8,
  panels: [
    durations(
      "Requests",
      "countersign_request_duration_seconds",
      "From the complete request head to the end of the answer.",
    ),
    durations(
      "The service's share",
      "countersign_upstream_duration_seconds",
      "All attempts, from connecting to the end of the answer. When this grows, tell the service's owner.",
    ),
    durations(
      "Our overhead",
      "countersign_overhead_seconds",
      "What Countersign itself adds: without the service, the wait for a token and the caller's sending.",
    ),
  ],
};

function durations(title: string, metric: string, description: string) {
  return curves({
    title,
    description: `${description} Of all sites of the environment, idle times left out.`,
    unit: "s",
    width: 8,
    queries: [
      [quantile(0.5, metric, inEnvironment, ["environment"]), "p50 {{environment}}"],
      [quantile(0.99, metric, inEnvironment, ["environment"]), "p99 {{environment}}"],
    ],
  });
}

const unauthorized: Row = {
  title: "401s",
  height: 8,
  panels: [
    curves({
      title: "401s by attempt",
      description:
        "Answers 401 of the service. Attempt 1 with OAuth is a token that was revoked before its time, and is answered with a new one; attempt 2 means that the new one was refused too. With HMAC there is one attempt: the signature was not taken. Runbook: 401s rise.",
      unit: "reqps",
      width: 12,
      queries: [
        [
          aboveZero(
            `sum by (site, auth, attempt) (${rate("countersign_upstream_unauthorized_total", ofSite)})`,
            "attempt",
            "none",
          ),
          "{{site}} {{auth}} attempt {{attempt}}",
        ],
      ],
    }),
    curves({
      title: "What came of them",
      description:
        "With OAuth. Cured: the retry with a new token was no 401. Refused: it was. Not possible: no new token was to be had, and the first 401 was passed on. Failed: the retry got no answer.",
      unit: "reqps",
      width: 12,
      queries: [
        [aboveZero(`sum by (result) (${rate("countersign_retries_total", ofSite)})`, "result", "none"), "{{result}}"],
      ],
    }),
  ],
};

const callbacks: Row = {
  title: "Callbacks",
  height: 8,
  panels: [
    curves({
      title: "Callbacks by what came of them",
      description:
        "What the service sent to listeners for callbacks. Delivered: the application took it. Declined: it answered no 2xx. Repeated: it had taken it before. The rest says why it did not get it. Runbook: Callbacks are not taken; Callbacks are not genuine.",
      unit: "reqps",
      width: 12,
      isStacked: true,
      queries: [
        [
          aboveZero(
            `sum by (result) (${rate("countersign_callbacks_total", `${inEnvironment}, site=~"$site|none"`)})`,
            "result",
            "no callbacks",
          ),
          "{{result}}",
        ],
      ],
    }),
    curves({
      title: "Callbacks that may come twice",
      description:
        "The store of replays failed or was full: these were handed over, and their repetition may be handed over too. Of all sites of the environment. Runbook: Callbacks may come twice.",
      unit: "reqps",
      width: 12,
      queries: [
        [
          aboveZero(
            `sum by (environment) (${rate("countersign_callbacks_unguarded_total", inEnvironment)})`,
            "environment",
            "none",
          ),
          "{{environment}}",
        ],
      ],
    }),
  ],
};

const refusals = `sum by (caller, code) (${rate("countersign_caller_refusals_total", inJob)})`;
const unknown = `${inEnvironment}, code=~"caller_not_known|caller_not_authenticated"`;
const strangers = `sum by (code) (${rate("countersign_failures_total", unknown)})`;

const further: Row = {
  title: "Callers, each request once, pass-through",
  height: 8,
  panels: [
    curves({
      title: "Callers refused",
      description:
        "By the caller's name: it has no right to what it asks for, or asks too often. Without a name: a certificate or a token that no caller has. Runbook: Callers are refused.",
      unit: "reqps",
      width: 8,
      isStacked: true,
      queries: [[aboveZero(`(${refusals} or ${strangers})`, "code", "none"), "{{caller}} {{code}}"]],
    }),
    curves({
      title: "Requests with Countersign-Once",
      description:
        "Recorded: sent, and its end is known to all replicas. Freed: not sent. Unrecorded: its end could not be written. Already sent, in progress, key reused: refused, since the key was used. Unavailable: refused, since Redis took no key. Runbook: Keys cannot be claimed; Ends are not recorded.",
      unit: "reqps",
      width: 8,
      isStacked: true,
      queries: [
        [
          aboveZero(`sum by (result) (${rate("countersign_once_total", inEnvironment)})`, "result", "none"),
          "{{result}}",
        ],
      ],
    }),
    curves({
      title: "Pass-through routes by status",
      description:
        "By the route's prefix. A stream or a WebSocket is counted when it ends; 101 is a WebSocket. 499: the caller left before there was an answer.",
      unit: "reqps",
      width: 8,
      isStacked: true,
      queries: [
        [
          aboveZero(
            `sum by (operation, status) (${rate("countersign_requests_total", `${ofSite}, operation=~"/.+"`)})`,
            "operation",
            "none",
          ),
          "{{operation}} {{status}}",
        ],
      ],
    }),
  ],
};

export const overview = assemble(
  "Countersign: overview",
  "countersign-overview",
  "Whether orders go through, at a glance, and where they fail.",
  [datasource(), logs(), cluster(), namespace(), job(), environment(), site(), credential()],
  [atAGlance, failures, latency, unauthorized, callbacks, further],
);
