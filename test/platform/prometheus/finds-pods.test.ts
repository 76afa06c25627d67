/**
 * Pods with the sidecar are found in a cluster, with the Prometheus Operator and without, wherever their sidecar comes from. There is
 * no cluster here: a real Prometheus is given what its discovery would say of their ports, and relabels that as it is told.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { complaintsOfDefinitions } from "../kubernetes/judges.ts";
import { type Manifest, parse as parseManifests, podTemplateOf } from "../kubernetes/manifests.ts";
import { withTools } from "../kubernetes/tools.ts";
import { discoveredPorts, type Pod } from "./discovered-pods.ts";
import { startPrometheus } from "./running-prometheus.ts";
import { hasPrometheus, withPrometheus } from "./tools.ts";

const read = (file: string) => parse(readFileSync(`deploy/prometheus/${file}`, "utf8"));
const {
  scrape_configs: [scrape, ...others],
  ...general
} = read("kubernetes.yaml");
const monitor = read("podmonitor.yaml");

it("without the Operator there is one job, which discovers pods, beside the rules and times of Compose", () => {
  expect(others).toEqual([]);
  expect(scrape.kubernetes_sd_configs).toEqual([{ role: "pod" }]);
  const { scrape_configs: _, ...ofCompose } = read("prometheus.yaml");
  expect(general).toEqual(ofCompose);
});

it.runIf(hasPrometheus)(
  withPrometheus("the port of every sidecar is found, with its namespace, its pod and its application as the job"),
  { timeout: 60_000 },
  async () => {
    const { kubernetes_sd_configs: _, ...rest } = scrape;
    const files = [writeTargets(pods.flatMap(discoveredPorts))];
    const prometheus = await startPrometheus([{ ...rest, file_sd_configs: [{ files }] }]);
    const found = async () => (await prometheus.ask("targets")).activeTargets.map(told).sort(byPod);
    const wanted = pods.filter(({ phase }) => phase === undefined).map(wantedOf);
    await expect.poll(found, { timeout: 20_000 }).toEqual(wanted.sort(byPod));
  },
);

const custom = withTools("custom-resources");
it.runIf(custom.isThere)(custom.named("with the Operator a PodMonitor finds the same, and is what it takes"), () => {
  expect(complaintsOfDefinitions([monitor])).toEqual([]);
  const { namespaceSelector, selector, podMetricsEndpoints } = monitor.spec;
  expect({ namespaceSelector, selector }).toEqual({ namespaceSelector: { any: true }, selector: {} });
  // The Operator itself keeps the port by its name, drops pods that have ended, and sets namespace and pod.
  const [{ port, relabelings }, ...more] = podMetricsEndpoints;
  expect({ port, more }).toEqual({ port: scrape.relabel_configs[0].regex, more: [] });
  const [job] = scrape.relabel_configs.filter(({ target_label }: Manifest) => target_label === "job");
  const { source_labels: sourceLabels, target_label: targetLabel, ...same } = job;
  expect(relabelings).toEqual([{ sourceLabels, targetLabel, ...same }]);
});

const injected = parseManifests(
  execFileSync(process.execPath, ["dist/main.js", "inject", "-f", "test/platform/kubernetes/workloads/orders.yaml"], {
    encoding: "utf8",
  }),
);
const podOf = (kind: string): Manifest => podTemplateOf(injected.find((each) => each.kind === kind)).spec;
const pods: readonly (Pod & { readonly application: string })[] = [
  pod("orders-5d89d5b7c4-x7k2p", 1, { kind: "ReplicaSet", name: "orders-5d89d5b7c4" }, "Deployment", "orders"),
  pod("ledger-0", 2, { kind: "StatefulSet", name: "ledger" }, "StatefulSet", "ledger"),
  pod("tills-q8w9z", 3, { kind: "DaemonSet", name: "tills" }, "DaemonSet", "tills"),
  pod("import-mz4cd", 4, { kind: "Job", name: "import" }, "Job", "import"),
  pod("settle-29384180-h2xvd", 5, { kind: "Job", name: "settle-29384180" }, "CronJob", "settle"),
  {
    ...pod("settle-29382740-k9d4s", 6, { kind: "Job", name: "settle-29382740" }, "CronJob", "settle"),
    phase: "Succeeded",
  },
];

function pod(name: string, number: number, madeBy: Pod["madeBy"], kind: string, application: string) {
  return { namespace: "shop", name, ip: `127.0.0.${number}`, madeBy, application, spec: podOf(kind) };
}

function wantedOf({ namespace, name, ip, application }: (typeof pods)[number]) {
  return {
    scrapeUrl: `http://${ip}:7412/metrics`,
    labels: { namespace, pod: name, job: application, instance: `${ip}:7412` },
  };
}

function told({ scrapeUrl, labels }: Manifest) {
  return { scrapeUrl, labels };
}

function byPod(one: { labels: { pod: string } }, other: { labels: { pod: string } }): number {
  return one.labels.pod < other.labels.pod ? -1 : 1;
}

function writeTargets(targets: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-targets-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "targets.json");
  writeFileSync(file, JSON.stringify(targets));
  return file;
}
