import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { openCharts } from "./charts.ts";
import { complaintsOf, complaintsOfOpenApi, complaintsOfPodSecurity, kubernetesVersions } from "./judges.ts";
import { type Manifest, ofKind, parse, podOf, podTemplateOf, sidecarOf } from "./manifests.ts";
import { run, succeed, withTools } from "./tools.ts";

// The patch and the kustomize component add the same sidecar as the chart.

const metadata = "metadata: { name: orders }";
const workloads = readFileSync("test/platform/cluster/orders.yaml", "utf8").replace(
  metadata,
  metadata.replace(" }", ", labels: { countersign: sidecar } }"),
);
const original = parse(workloads);
const deployment = ofKind(original, "Deployment");

/** A container without its image and volume mounts, which differ, and without the chart's value `image.pullPolicy`. */
const essence = ({ imagePullPolicy: _, image: _image, volumeMounts: _mounts, ...rest }: Manifest) => rest;

const test = withTools("helm", "kubectl", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();

it("the patch has at most 25 lines, and kustomize's is the same", () => {
  const text = readFileSync("deploy/patch.yaml", "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
  expect(parse(readFileSync("deploy/kustomize/patch.yaml", "utf8"))[0].spec).toEqual(parse(text)[0].spec);
});

test("kubectl patch leaves the application as it is, adds nothing twice, and is accepted", () => {
  const patched = patch(deployment);
  expect(complaintsOf([patched])).toEqual([]);
  const [own, before] = [podTemplateOf(patched).spec, podTemplateOf(deployment).spec];
  expect(own.containers).toEqual(before.containers);
  expect(patch(patched)).toEqual(patched);
});

test("the kustomize component adds the same as the patch, to workloads with the label, and is accepted", () => {
  const built = kustomize();
  expect(complaintsOf(built)).toEqual([]);
  const patched = essence(sidecarOf(podTemplateOf(patch(deployment))));
  for (const kind of ["Deployment", "StatefulSet", "DaemonSet", "Job"]) {
    expect(essence(sidecarOf(podOf(built, kind)))).toEqual(patched);
  }
  expect(podOf(built, "CronJob")).toEqual(podOf(original, "CronJob"));
});

test("the kustomize component names its volumes like the patch, beside the application's own", () => {
  const { volumes, initContainers } = podOf(kustomize(), "StatefulSet").spec;
  const own = podTemplateOf(patch(deployment)).spec;
  const names = (list: readonly Manifest[]) => list.map(({ name }) => name).sort();
  expect(names(volumes)).toEqual([...names(own.volumes), "scratch"].sort());
  expect(sidecarOf({ spec: { initContainers, containers: [] } }).volumeMounts).toEqual(
    sidecarOf({ spec: own }).volumeMounts,
  );
});

test("the kustomize component leaves image and ConfigMap to kustomize, so that their change replaces the pods", () => {
  const built = kustomize();
  const { spec } = podOf(built);
  expect(sidecarOf({ spec }).image).toBe("registry.example/countersign:1.2.3");
  const { name } = ofKind(built, "ConfigMap").metadata;
  expect(name).toMatch(/^countersign-\w+$/);
  expect(spec.volumes.find(({ configMap }: Manifest) => configMap !== undefined).configMap.name).toBe(name);
});

test("the chart adds the same container as the patch", () => {
  const sidecar = sidecarOf(podOf(charts.objects("example-app")));
  const patched = sidecarOf(podTemplateOf(patch(deployment)));
  expect(essence(sidecar)).toEqual(essence(patched));
  expect(sidecar.image).toBe(patched.image);
});

test("the judges find a privileged container, also in a bare pod", () => {
  const object = structuredClone(deployment);
  const { spec } = podTemplateOf(object);
  spec.containers[0].securityContext.privileged = true;
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "orders" }, spec };
  for (const each of [object, pod]) expect(complaintsOfPodSecurity([each]).join()).toContain("privileged");
});

test.each(kubernetesVersions)("the judges find a field that Kubernetes %s does not have", (version) => {
  const object = structuredClone(deployment);
  podTemplateOf(object).spec.containers[0].startProbe = {};
  expect(complaintsOfOpenApi([object], version).join()).toContain("startProbe");
});

test("the judges find a custom resource without a required field", () => {
  const monitor = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: { name: "x" },
    spec: { podEndpoints: [] },
  };
  const { exitCode, stdout } = run("custom-resources", [".tools/crds"], stringify(monitor));
  expect(exitCode).toBe(1);
  expect(stdout).toContain("spec.selector: Required value");
  expect(stdout).toContain("unknown field spec.podEndpoints");
});

/** Applies the patch as kubectl does to a Deployment in a cluster. */
function patch(object: Manifest): Manifest {
  const args = ["patch", "--local", "--filename", "-", "--patch-file", "deploy/patch.yaml", "--output", "yaml"];
  return parse(succeed("kubectl", args, stringify(object)))[0];
}

function kustomize(): Manifest[] {
  const folder = emptyFolder();
  cpSync("deploy/kustomize", join(folder, "countersign"), { recursive: true });
  writeFileSync(join(folder, "orders.yaml"), workloads);
  const kustomization = {
    resources: ["orders.yaml"],
    components: ["countersign"],
    images: [{ name: "countersign", newName: "registry.example/countersign", newTag: "1.2.3" }],
    configMapGenerator: [{ name: "countersign", literals: ["countersign.yaml=listeners"] }],
  };
  writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
  return parse(succeed("kubectl", ["kustomize", folder]));
}
