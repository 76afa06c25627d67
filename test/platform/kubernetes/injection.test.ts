/**
 * The chart with `injection.enabled`, on a real API server: each pod with the label gets the container, volumes and grace period of
 * deploy/patch.yaml and of the chart's templates, or is refused with a sentence; none starts without.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { stringify } from "yaml";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { openCharts, set, setJson } from "./charts.ts";
import { type Manifest, parse, podOf, podTemplateOf } from "./manifests.ts";
import { isThere, succeed, withTools } from "./tools.ts";

const tools = ["helm", "kubectl", "kube-apiserver"] as const;
const test = withTools(...tools);
const charts = openCharts();
const label = "countersign.io/inject";
const mark = "countersign.io/injected";
const injected = { [mark]: "countersign" };
const workloads = parse(readFileSync("test/platform/cluster/orders.yaml", "utf8"));
const deployment = podOf(workloads);

let server: ApiServer;
beforeAll(async () => {
  if (!tools.every(isThere)) return;
  server = await startApiServer();
  for (const name of ["shop", "elsewhere"]) {
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
    await server.post("/api/v1/namespaces", { metadata: { name, labels } });
    await server.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } });
  }
  for (const name of ["countersign", "demo-countersign", "other"]) {
    const labels = name === "other" ? {} : { "countersign.io/configuration": "true" };
    await server.post("/api/v1/namespaces/shop/configmaps", { metadata: { name, labels } });
  }
  await install(set("injection.enabled=true"), (spec) => spec?.initContainers !== undefined);
});
afterAll(() => server?.close());

/** Values of the next version, with the Secrets of helm/example-app. */
const next = [
  ...set("injection.enabled=true,image.tag=0.2.0"),
  ...setJson(
    "secrets",
    ["blue", "redis"].map((folder) => ({ folder, secretName: `countersign-${folder}` })),
  ),
];
const isNext = (spec: Manifest) => spec?.initContainers[0].image === "countersign:0.2.0";

/** Installs or upgrades the chart, and waits until pods are made by it. */
async function install(args: readonly string[], isMade: (spec: Manifest) => boolean): Promise<void> {
  kubectl(["apply", "--server-side", "--filename", "-"], charts.render("countersign", args));
  await untilPod(isMade);
}

/** A policy is in force, or no longer, a moment after its change. */
async function untilPod(isMade: (spec: Manifest) => boolean): Promise<void> {
  const isInForce = async () => {
    const { spec } = await server.post("/api/v1/namespaces/shop/pods?dryRun=All", podFrom(deployment));
    if (!isMade(spec)) throw new Error("not in force");
  };
  await vi.waitFor(isInForce, { timeout: 60_000, interval: 50 });
}

function kubectl(args: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = server.kubectl(args, input);
  if (exitCode !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${exitCode}: ${stdout}${stderr}`);
  return stdout;
}

const asking = (configuration: string) => ({ [label]: configuration });

/** A pod as a controller makes it of a workload's template, by default with the label. */
function podFrom({ metadata, spec }: Manifest, labels: object = asking("countersign")): Manifest {
  return { metadata: { generateName: "pod-", labels: { ...metadata?.labels, ...labels } }, spec };
}

const create = (pod: Manifest, namespace = "shop") => server.post(`/api/v1/namespaces/${namespace}/pods`, pod);

/** The spec of a pod as it is kept, with the random part of its token's volume left out. */
async function kept(pod: Manifest): Promise<string> {
  const answer = await create(pod);
  if (answer.kind === "Status") throw new Error(answer.message);
  return stringify(answer.spec).replaceAll(/kube-api-access-\w+/g, "kube-api-access");
}

function patched(workload: Manifest): Manifest {
  const patch = parse(readFileSync("deploy/patch.yaml", "utf8"))[0];
  const whole = workload.kind === "CronJob" ? { spec: { jobTemplate: patch } } : patch;
  const args = ["patch", "--local", "--filename", "-", "--patch", JSON.stringify(whole), "--output", "yaml"];
  return podTemplateOf(parse(succeed("kubectl", args, stringify(workload)))[0]);
}

test.each(workloads)("a labelled pod of a $kind is byte for byte the pod of the patch", async (workload) => {
  const own = podTemplateOf(workload);
  expect(await kept(podFrom(own))).toBe(await kept(podFrom(patched(workload), {})));
});

test("if a policy cannot be evaluated, the pod is refused", () => {
  const policies = charts.objects("countersign", next).filter(({ kind }) => /Policy$/.test(kind));
  expect(policies.map(({ spec }) => spec.failurePolicy)).toEqual(["Fail", "Fail"]);
});

test("of its metadata only one annotation changes, which names the configuration", async () => {
  const { metadata } = await create(podFrom(deployment));
  const { labels, annotations } = metadata;
  expect({ labels, annotations }).toEqual({ labels: podFrom(deployment).metadata.labels, annotations: injected });
});

test("a pod without the label stays as it is", async () => {
  expect(await kept(podFrom(deployment, {}))).not.toContain("name: countersign");
});

const again = {
  name: "countersign",
  image: "countersign:0.0.9",
  securityContext: deployment.spec.containers[0].securityContext,
};
const isTaken = "the pod has a container countersign already";
const noConfigMap = (name: string, namespace = "shop") =>
  `namespace ${namespace} has no ConfigMap '${name}' with the label countersign.io/configuration=true`;

test.each([
  { what: "asks for an unknown configuration", asks: "orderz", says: noConfigMap("orderz") },
  { what: "asks for a ConfigMap of something else", asks: "other", says: noConfigMap("other") },
  { what: "names no configuration", asks: "", says: noConfigMap("") },
  { what: "is in a namespace without it", namespace: "elsewhere", says: noConfigMap("countersign", "elsewhere") },
  { what: "has the container", spec: { initContainers: [again] }, says: isTaken },
  { what: "has an application of this name", spec: { containers: [again] }, says: isTaken },
  { what: "has the container, and no configuration", asks: "orderz", spec: { initContainers: [again] }, says: isTaken },
  { what: "has the container, and names no configuration", asks: "", spec: { initContainers: [again] }, says: isTaken },
  { what: "is a copy of one that got it", spec: { initContainers: [again] }, annotations: injected, says: isTaken },
  { what: "only says that it got it", asks: "orderz", annotations: { [mark]: "orderz" }, says: noConfigMap("orderz") },
])("a labelled pod that $what is refused", async ({ asks = "countersign", namespace, spec, annotations, says }) => {
  const { metadata, ...pod } = podFrom({ spec: { ...deployment.spec, ...spec } }, asking(asks));
  const { kind, code, message } = await create({ ...pod, metadata: { ...metadata, annotations } }, namespace);
  expect({ kind, code }).toEqual({ kind: "Status", code: 403 });
  expect(message).toMatch(new RegExp(`denied request: the label ${label} asks for Countersign, but ${says}$`));
});

test("the namespace enforces Pod Security restricted, for the application and for what is added", async () => {
  const { containers } = deployment.spec;
  const { message } = await create(podFrom({ spec: { containers: [{ ...containers[0], securityContext: {} }] } }));
  expect(message).toMatch(/violates PodSecurity "restricted:latest": .*container "orders" must set/);
  expect(message).not.toContain("countersign");
});

test("kubectl diff is quiet after an apply on either side, of every kind of workload and of a bare pod", () => {
  const bare = { apiVersion: "v1", kind: "Pod", metadata: { name: "bare" }, spec: deployment.spec };
  const objects = [bare, ...structuredClone(workloads)];
  for (const template of objects.map(podTemplateOf)) {
    template.metadata = { ...template.metadata, labels: podFrom(template).metadata.labels };
  }
  const stream = objects.map((object) => stringify(object)).join("---\n");
  for (const side of ["--server-side=true", "--server-side=false"]) {
    kubectl(["apply", side, "--filename", "-"], stream);
    expect(kubectl(["diff", side, "--filename", "-"], stream)).toBe("");
    kubectl(["delete", "--filename", "-"], stream);
  }
});

const fleet = Array.from({ length: 60 }, (_, n) => {
  const [containers, metadata] = [
    [{ ...deployment.spec.containers[0], image: `application-${n % 10}:1` }],
    { name: `fleet-${n}` },
  ];
  const template = podFrom({ spec: { containers, restartPolicy: n < 40 ? "Always" : "Never" } });
  if (n < 40) {
    const selector = { matchLabels: template.metadata.labels };
    return { path: "/apis/apps/v1/namespaces/shop/deployments", object: { metadata, spec: { selector, template } } };
  }
  if (n < 50) return { path: "/apis/batch/v1/namespaces/shop/jobs", object: { metadata, spec: { template } } };
  const spec = { schedule: "0 3 * * *", jobTemplate: { spec: { template } } };
  return { path: "/apis/batch/v1/namespaces/shop/cronjobs", object: { metadata, spec } };
});

test("through an upgrade and a kill of the API server, each pod of forty Deployments, ten Jobs and ten CronJobs has the old container or the new", async () => {
  const workloads = await Promise.all(fleet.map(({ path, object }) => server.post(path, object)));
  const templates = workloads.map(podTemplateOf);
  // No answer comes while the server is down.
  const make = (template: Manifest) => create(podFrom(template)).catch(() => sleep(5, undefined));
  const makeAll = () => Promise.all(templates.map(make));
  const imagesOf = (pods: readonly Manifest[]) => {
    const ours = pods.map(({ spec }) => spec.initContainers.filter(({ name }: Manifest) => name === "countersign"));
    return new Set(ours.map((containers) => containers.map(({ image }: Manifest) => image).join()));
  };
  expect(imagesOf(await makeAll())).toEqual(new Set(["countersign:0.1.0"]));
  let isDone = false;
  const making = (async () => {
    while (!isDone) await makeAll();
  })();
  await install(next, isNext);
  await server.kill();
  server.start();
  await untilPod(isNext);
  isDone = true;
  await making;
  expect(imagesOf(await makeAll())).toEqual(new Set(["countersign:0.2.0"]));
  const { items } = JSON.parse(kubectl(["get", "pods", "--selector", label, "--output", "json"]));
  expect(items.length).toBeGreaterThan(2 * fleet.length);
  expect(imagesOf(items)).toEqual(new Set(["countersign:0.1.0", "countersign:0.2.0"]));
});

test("with the values of an application's chart, a labelled pod is byte for byte the pod of the chart's templates", async () => {
  await install(next, isNext);
  const rendered = podOf(charts.objects("example-app", set("countersign.image.tag=0.2.0")));
  const { initContainers: _, volumes: _ofChart, ...own } = rendered.spec;
  const pod = podFrom({ spec: { ...own, terminationGracePeriodSeconds: 20 } }, asking("demo-countersign"));
  expect(await kept(pod)).toBe(await kept(podFrom(rendered, {})));
});

test("after the removal the label has no effect, and pods that exist stay as they are", async () => {
  const pods = () => kubectl(["get", "pods", "--output", "jsonpath={range .items[*]}{.metadata.name} {.spec}{end}"]);
  const before = pods();
  kubectl(["delete", "--filename", "-"], charts.render("countersign", next));
  await untilPod((spec) => spec !== undefined && spec.initContainers === undefined);
  expect(pods()).toBe(before);
});
