import { assemble, type Row } from "./assemble.ts";
import { bars, curves, list } from "./panel.ts";
import { aboveZero, events, inEnvironment, inJob, ofCredential, rate, withNames } from "./promql.ts";

/** Labels of a pod, with its name if it has one. */
const ofPod = "cluster, namespace, job, instance, pod";

/** Metrics that every Node.js process has, but only of our processes. */
function ofOurs(expr: string): string {
  return `${expr} and on (cluster, namespace, job, instance) countersign_build_info{${inJob}}`;
}

const load: Row = {
  title: "Load",
  panels: [
    curves({
      title: "Requests in flight, of the limit",
      description:
        "Of each environment's busiest pod, as a share of limits.inFlightPerEnvironment; above it, requests get 503.",
      alerts: ["CountersignInFlightNearLimit"],
      unit: "percentunit",
      steps: ["transparent", [0.8, "red"]],
      queries: [
        [
          `max by (environment) (countersign_requests_in_flight{${inEnvironment}} / countersign_requests_in_flight_limit{${inEnvironment}})`,
          "{{environment}}",
        ],
      ],
    }),
    curves({
      title: "CPU",
      description: "Cores that each pod uses. One process uses hardly more than one.",
      unit: "short",
      queries: [[withNames(ofOurs(`rate(process_cpu_seconds_total{${inJob}}[$__rate_interval])`)), "{{name}}"]],
    }),
    curves({
      title: "Event loop delay, p99",
      description: "How late the process comes to its work. It adds to every request.",
      unit: "s",
      queries: [[withNames(ofOurs(`nodejs_eventloop_lag_p99_seconds{${inJob}}`)), "{{name}}"]],
    }),
  ],
};

const memory: Row = {
  title: "Memory and descriptors",
  panels: [
    curves({
      title: "Memory",
      description: "Resident memory of each pod. A container that exceeds its limit is killed (OOMKilled).",
      alerts: ["CountersignRestarts"],
      unit: "bytes",
      queries: [[withNames(ofOurs(`process_resident_memory_bytes{${inJob}}`)), "{{name}}"]],
    }),
    curves({
      title: "Heap",
      description: "JavaScript objects of each pod. It goes up and down; at equal load it does not grow.",
      unit: "bytes",
      queries: [[withNames(ofOurs(`nodejs_heap_size_used_bytes{${inJob}}`)), "{{name}}"]],
    }),
    curves({
      title: "Memory of bodies, of the limit",
      description:
        "What bodies and answers under way take in each pod, as a share of limits.bufferedBytes; above it, requests get 503.",
      alerts: ["CountersignInFlightNearLimit"],
      unit: "percentunit",
      steps: ["transparent", [0.8, "red"]],
      queries: [
        [withNames(`countersign_buffered_bytes{${inJob}} / countersign_buffered_bytes_limit{${inJob}}`), "{{name}}"],
      ],
    }),
    curves({
      title: "File descriptors",
      description: "Open connections and files, as a share of the most that the process may have.",
      unit: "percentunit",
      queries: [[withNames(ofOurs(`process_open_fds{${inJob}} / process_max_fds{${inJob}}`)), "{{name}}"]],
    }),
  ],
};

const configurations = `countersign_config_info{${inJob}}`;
const mostUsed = `topk by (cluster, namespace, job) (1, count by (cluster, namespace, job, hash) (${configurations}))`;

const configuration: Row = {
  title: "Version and configuration",
  panels: [
    bars({
      title: "Pods by version",
      description: "Version of Countersign and of Node.js. More than one while a roll-out is under way.",
      unit: "short",
      queries: [[`count by (version, node) (countersign_build_info{${inJob}})`, "{{version}} on Node.js {{node}}"]],
    }),
    bars({
      title: "Pods by configuration",
      description:
        "Hash of the active configuration, and the pods that have another than most of their application. For longer than a roll-out or a reload: they have not taken the change up.",
      unit: "short",
      queries: [
        [`count by (hash) (${configurations})`, "{{hash}}"],
        [withNames(`${configurations} unless on (cluster, namespace, job, hash) ${mostUsed}`), "{{name}}: {{hash}}"],
      ],
    }),
    curves({
      title: "Changes refused",
      description:
        "Pods whose files hold a configuration that was refused, and files of single sites that are refused. What was there before is active; a new site is not served.",
      alerts: ["CountersignReloadFailed", "CountersignSiteFilesRefused"],
      unit: "short",
      steps: ["transparent", [1, "red"]],
      queries: [
        [`sum(1 - countersign_config_last_reload_successful{${inJob}})`, "pods"],
        [`max by (environment) (countersign_site_files_refused{${inEnvironment}})`, "site files of {{environment}}"],
      ],
    }),
    list({
      title: "Youngest processes",
      description: "How long ago each pod's process started, the youngest first: restarts are at the top.",
      alerts: ["CountersignRestarts"],
      unit: "s",
      decimals: 0,
      valueName: "started, ago",
      hidden: ["cluster", "namespace", "instance", "pod"],
      queries: [
        [
          `sort(bottomk(20, time() - ${withNames(`max by (${ofPod}) (${ofOurs(`process_start_time_seconds{${inJob}}`)})`)}))`,
          "",
        ],
      ],
    }),
  ],
};

const certificates = `bottomk by (environment, listener, use) (1, countersign_certificate_expiry_timestamp_seconds{${inEnvironment}})`;
const assertions = `label_replace(bottomk by (environment, credential) (1, countersign_assertion_expiry_timestamp_seconds{${ofCredential}}), "use", "assertion", "", "")`;

const expiry: Row = {
  title: "Certificates and assertions",
  height: 6,
  panels: [
    list({
      title: "Expires next",
      description:
        "Time left, in the worst pod, which is named, to the first certificate of each file and to the assertion of each credential set; the ten that end first, of each use. 0: it has expired, or the assertion is missing.",
      alerts: ["CountersignCertificateExpired", "CountersignCertificateExpires", "CountersignAssertionExpired"],
      unit: "dtdhms",
      valueName: "expires in",
      hidden: ["cluster", "namespace", "instance", "pod"],
      // Assertions live for minutes or hours, so ten of all uses would leave no room for certificates.
      queries: [
        [`sort(bottomk by (use) (10, clamp_min(${withNames(`(${certificates} or ${assertions})`)} - time(), 0)))`, ""],
      ],
    }),
  ],
};

const linesLost = `sum by (namespace, instance, pod) (${rate("countersign_log_lines_dropped_total", inJob)})`;

const waysOut: Row = {
  title: "Ways out",
  panels: [
    curves({
      title: "Tunnels by result",
      description:
        "What a forward proxy (egress) made of each CONNECT; a tunnel serves many requests. Unauthorized: it demands another password. Refused: its rules do not allow the host.",
      alerts: ["CountersignTunnelsFail"],
      unit: "reqps",
      isStacked: true,
      queries: [events("countersign_tunnels_total", inEnvironment, ["environment", "result"])],
    }),
    curves({
      title: "Spans by result",
      description:
        "Exported: the collector took them. Dropped: they waited for it, and there was no room for more. Rejected: it refused them.",
      alerts: ["CountersignSpansLost"],
      unit: "cps",
      isStacked: true,
      queries: [events("countersign_trace_spans_total", inJob, ["result"])],
    }),
    curves({
      title: "Log lines lost",
      description: "By pod. Standard output was not read in time, or a disk was full. Requests pass.",
      alerts: ["CountersignLogLinesDropped"],
      unit: "cps",
      queries: [[aboveZero(withNames(linesLost), "name", "none"), "{{name}}"]],
    }),
  ],
};

export const processes = assemble(
  "Countersign: process",
  "countersign-process",
  "What the pods themselves need and run.",
  [load, memory, configuration, expiry, waysOut],
);
