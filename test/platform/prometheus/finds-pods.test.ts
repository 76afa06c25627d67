/**
 * Prometheus finds pods with the sidecar in a cluster, with the Prometheus Operator and without, however the sidecar was added. There is
 * no cluster here: a real Prometheus gets the targets that its discovery would find, and relabels them by the configuration.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { openCharts, set } from "../kubernetes/charts.ts";
import { type Manifest, ofKind } from "../kubernetes/manifests.ts";
import { withTools } from "../kubernetes/tools.ts";
import { rulesFile } from "./rules.ts";
import { startPrometheus } from "./running-prometheus.ts";

const read = (file: string) => parse(readFileSync(`deploy/prometheus/${file}`, "utf8"));
const {
  scrape_configs: [scrape, ...others],
  ...general
} = read("kubernetes.yaml");

it("without the Operator there is one job, which discovers pods, with the times of Compose", () => {
  expect(others).toEqual([]);
  expect(scrape.kubernetes_sd_configs).toEqual([{ role: "pod" }]);
  const { scrape_configs: _, rule_files: rulesOfCompose, ...timesOfCompose } = read("prometheus.yaml");
  const { rule_files: rules, ...times } = general;
  expect(times).toEqual(timesOfCompose);
  expect([rules, rulesOfCompose]).toEqual([["rules.yaml"], [`../../${rulesFile}`]]);
});

withTools("prometheus")(
  "the port of every sidecar is found, with its namespace, its pod and its application as the job",
  async () => {
    const { kubernetes_sd_configs: _, ...rest } = scrape;
    const targets = join(emptyFolder(), "targets.json");
    writeFileSync(targets, JSON.stringify(pods.flatMap(discoveredPorts)));
    const prometheus = await startPrometheus([{ ...rest, file_sd_configs: [{ files: [targets] }] }]);
    const told = ({ scrapeUrl, labels }: Manifest) => ({ scrapeUrl, labels });
    const found = async () => (await prometheus.ask("targets")).activeTargets.map(told).sort(byPod);
    const wanted = pods.filter(({ phase }) => phase === "Running").map(wantedOf);
    await expect.poll(found, { timeout: 20_000 }).toEqual(wanted.sort(byPod));
  },
);

const charts = openCharts();
withTools("helm")("with the Operator the PodMonitor of a release that only monitors finds the same pods", () => {
  const monitor = ofKind(charts.objects("countersign", set("podMonitor.enabled=true")), "PodMonitor");
  const { namespaceSelector, selector, podMetricsEndpoints } = monitor.spec;
  expect({ namespaceSelector, selector }).toEqual({ namespaceSelector: { any: true }, selector: {} });
  // The Operator itself keeps the port by its name, drops pods that have ended, and sets namespace and pod.
  const [{ port, relabelings }, ...more] = podMetricsEndpoints;
  expect({ port, more }).toEqual({ port: scrape.relabel_configs[0].regex, more: [] });
  const [job] = scrape.relabel_configs.filter(({ target_label }: Manifest) => target_label === "job");
  const { source_labels: sourceLabels, target_label: targetLabel, ...same } = job;
  expect(relabelings).toEqual([{ sourceLabels, targetLabel, ...same }]);
});

/** A pod with the sidecar: an application without ports, and the container of deploy/patch.yaml. */
const { spec: added } = parse(readFileSync("deploy/patch.yaml", "utf8")).spec.template;
const spec = { ...added, containers: [{ name: "application" }] };
const pods = [
  pod("orders-5d89d5b7c4-x7k2p", 1, { kind: "ReplicaSet", name: "orders-5d89d5b7c4" }, "orders"),
  pod("ledger-0", 2, { kind: "StatefulSet", name: "ledger" }, "ledger"),
  pod("tills-q8w9z", 3, { kind: "DaemonSet", name: "tills" }, "tills"),
  pod("import-mz4cd", 4, { kind: "Job", name: "import" }, "import"),
  pod("settle-29384180-h2xvd", 5, { kind: "Job", name: "settle-29384180" }, "settle"),
  pod("settle-29382740-k9d4s", 6, { kind: "Job", name: "settle-29382740" }, "settle", "Succeeded"),
];
type Pod = (typeof pods)[number];

function pod(
  name: string,
  number: number,
  madeBy: { kind: string; name: string },
  application: string,
  phase = "Running",
) {
  return { namespace: "shop", name, ip: `127.0.0.${number}`, madeBy, application, phase, spec };
}

function wantedOf({ namespace, name, ip, application }: Pod) {
  return {
    scrapeUrl: `http://${ip}:7412/metrics`,
    labels: { namespace, pod: name, job: application, instance: `${ip}:7412` },
  };
}

function byPod(one: { labels: { pod: string } }, other: { labels: { pod: string } }): number {
  return one.labels.pod < other.labels.pod ? -1 : 1;
}

/** The labels from discovery by `role: pod` for every port, also of init containers (Prometheus, `kubernetes_sd_config`). */
function discoveredPorts({ namespace, name, ip, phase, madeBy, spec }: Pod) {
  const { containers, initContainers = [] } = spec;
  return [...containers, ...initContainers].flatMap((container: Manifest) =>
    // A container without ports is a target too, without a port.
    (container.ports ?? [{}]).map((port: Manifest) => ({
      targets: [port.containerPort === undefined ? ip : `${ip}:${port.containerPort}`],
      labels: {
        __meta_kubernetes_namespace: namespace,
        __meta_kubernetes_pod_name: name,
        __meta_kubernetes_pod_ip: ip,
        __meta_kubernetes_pod_phase: phase,
        __meta_kubernetes_pod_controller_kind: madeBy.kind,
        __meta_kubernetes_pod_controller_name: madeBy.name,
        __meta_kubernetes_pod_container_name: container.name,
        __meta_kubernetes_pod_container_init: String(initContainers.includes(container)),
        ...(port.name === undefined ? {} : { __meta_kubernetes_pod_container_port_name: port.name }),
      },
    })),
  );
}
