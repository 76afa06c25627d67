import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { classic } from "../../promises/cli/inject-run.ts";
import { Charts } from "./charts.ts";
import { complaintsOfOpenApi, complaintsOfPodSecurity, kubernetesVersions } from "./judges.ts";
import { type Manifest, nameOf, parse, podTemplateOf, sidecarOf } from "./manifests.ts";
import { run, succeed, withTools } from "./tools.ts";

// The patch, the kustomize component and `countersign inject` add the sidecar that the chart adds.

const workloads = "test/platform/kubernetes/workloads/orders.yaml";
const original = parse(readFileSync(workloads, "utf8"));
const deployment = original.find(({ kind }) => kind === "Deployment");

const inject = (...args: string[]) => {
  return parse(succeed(process.execPath, ["dist/main.js", "inject", "-f", workloads, ...args]));
};

/** As kubectl does it to a Deployment in a cluster. */
const patch = (object: Manifest): Manifest => {
  const args = ["patch", "--local", "--filename", "-", "--patch-file", "deploy/patch.yaml", "--output", "yaml"];
  return parse(succeed("kubectl", args, stringify(object)))[0];
};

const kustomize = (): Manifest[] => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-kustomize-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync("deploy/kustomize", join(folder, "countersign"), { recursive: true });
  copyFileSync(workloads, join(folder, "orders.yaml"));
  const kustomization = {
    resources: ["orders.yaml"],
    components: ["countersign"],
    images: [{ name: "countersign", newName: "registry.example/countersign", newTag: "1.2.3" }],
    configMapGenerator: [{ name: "countersign", literals: ["countersign.yaml=listeners"] }],
  };
  writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
  return parse(succeed("kubectl", ["kustomize", folder]));
};

const podOf = (objects: readonly Manifest[], kind: string) => {
  return podTemplateOf(objects.find((object) => object.kind === kind)).spec;
};

/** Without what is each one's own: where it comes from, and the chart's value `image.pullPolicy`. */
const essence = ({ imagePullPolicy: _, image: _image, volumeMounts: _mounts, ...rest }: Manifest) => rest;

const accepted = (objects: readonly Manifest[]) => {
  for (const version of kubernetesVersions) expect(complaintsOfOpenApi(objects, version)).toEqual([]);
  expect(complaintsOfPodSecurity(objects)).toEqual([]);
};

const judges = ["pod-security", "kubernetes-validate"] as const;

it("the patch has at most 25 lines, and kustomize's is the same", () => {
  const text = readFileSync("deploy/patch.yaml", "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(25);
  expect(parse(readFileSync("deploy/kustomize/patch.yaml", "utf8"))[0].spec).toEqual(parse(text)[0].spec);
});

describe("kubectl patch", () => {
  const { isThere, named } = withTools("kubectl", ...judges);

  it.runIf(isThere)(named("adds what inject adds, and is accepted"), () => {
    const patched = patch(deployment);
    accepted([patched]);
    const [own, injected] = [podTemplateOf(patched).spec, podOf(inject(), "Deployment")];
    expect(own).toEqual(injected);
    expect(patch(patched)).toEqual(patched);
  });
});

describe("the kustomize component", () => {
  const { isThere, named } = withTools("kubectl", ...judges);

  it.runIf(isThere)(named("adds what inject adds, to what has the label, and is accepted"), () => {
    const built = kustomize();
    accepted(built);
    const injected = inject();
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet", "Job"]) {
      expect(essence(sidecarOf({ spec: podOf(built, kind) }))).toEqual(
        essence(sidecarOf({ spec: podOf(injected, kind) })),
      );
    }
    expect(podOf(built, "CronJob")).toEqual(podOf(original, "CronJob"));
  });

  it.runIf(isThere)(named("leaves image and ConfigMap to kustomize, so that a changed one replaces the pods"), () => {
    const built = kustomize();
    const spec = podOf(built, "Deployment");
    expect(sidecarOf({ spec }).image).toBe("registry.example/countersign:1.2.3");
    const { name } = built.find(({ kind }) => kind === "ConfigMap").metadata;
    expect(name).toMatch(/^countersign-\w+$/);
    expect(spec.volumes.find(({ configMap }: Manifest) => configMap !== undefined).configMap.name).toBe(name);
  });
});

describe("countersign inject", () => {
  const { isThere, named } = withTools(...judges);

  it.runIf(isThere).each([{ args: [] }, { args: ["--env", "BASE_URL"] }])(named("is accepted: $args"), ({ args }) => {
    const injected = inject(...args);
    accepted(injected);
    expect(injected.map(nameOf)).toEqual(original.map(nameOf));
  });

  it.runIf(isThere)(named("is accepted in a bare Pod"), () => {
    const { spec } = podTemplateOf(original.find(({ kind }) => kind === "Job"));
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "once" }, spec };
    const injected = parse(succeed(process.execPath, ["dist/main.js", "inject", "-f", "-"], stringify(pod)));
    accepted(injected);
    expect(sidecarOf(injected[0]).restartPolicy).toBe("Always");
  });

  it.runIf(isThere)(named("is accepted as a classic sidecar, too"), () => {
    const args = ["dist/main.js", "inject", "-f", "-", ...classic];
    const injected = parse(succeed(process.execPath, args, stringify(deployment)));
    accepted(injected);
    expect(podOf(injected, "Deployment").containers.map(({ name }: Manifest) => name)).toEqual([
      "orders",
      "countersign",
    ]);
  });
});

describe("the chart", () => {
  const { isThere, named } = withTools("helm");

  it.runIf(isThere)(named("adds the container that inject adds"), () => {
    const charts = new Charts();
    onTestFinished(() => charts.remove());
    const sidecar = sidecarOf({ spec: podOf(parse(charts.render("example-app")), "Deployment") });
    const injected = sidecarOf({ spec: podOf(inject(), "Deployment") });
    expect(essence(sidecar)).toEqual(essence(injected));
    expect(sidecar.image).toBe(injected.image);
  });
});

describe("the judges", () => {
  const { isThere, named } = withTools(...judges);

  it.runIf(isThere)(named("see a privileged container"), () => {
    const object = structuredClone(deployment);
    podTemplateOf(object).spec.containers[0].securityContext.privileged = true;
    expect(complaintsOfPodSecurity([object]).join()).toContain("privileged");
  });

  it.runIf(isThere).each(kubernetesVersions)(named("see a field that Kubernetes %s does not have"), (version) => {
    const object = structuredClone(deployment);
    podTemplateOf(object).spec.containers[0].startProbe = {};
    expect(complaintsOfOpenApi([object], version).join()).toContain("startProbe");
  });

  it.runIf(withTools("custom-resources").isThere)("see a custom resource that lacks what it needs", () => {
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
});
