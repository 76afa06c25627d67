import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { startPod } from "../../promises/reload/pod.ts";
import { openCharts, set, setJson, values } from "./charts.ts";
import { mounted, secretsOf } from "./fake-secrets.ts";
import { isOfHook, type Manifest, ofKind, podOf, podTemplateOf, sidecarOf } from "./manifests.ts";
import { run, withTools } from "./tools.ts";

// The chart's hooks: `countersign check` before a configuration reaches a pod, and `helm test`. There is no cluster here:
// the built command gets exactly the arguments, configuration and Secrets that the pod would have.

const test = withTools("helm");
const charts = openCharts();
const { gateway, sidecar, plain } = values;

describe("the check", () => {
  test.each([
    { what: "a gateway", chart: "countersign", args: gateway },
    { what: "a gateway with a secret from a variable", chart: "countersign", args: plain },
    { what: "a sidecar", chart: "countersign", args: sidecar },
    { what: "an application's chart", chart: "example-app", args: [] },
  ])("accepts the configuration of $what, which is the same that pods get", ({ chart, args }) => {
    const objects = charts.objects(chart, args);
    const { checked, installed } = configurationsOf(objects);
    expect(checked).toBe(installed);
    const { exitCode, stderr } = runCheck(objects);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  });

  test.each([
    { what: "what only Countersign finds", more: "authUrl=https://api.sandbox.example", says: "have the same origin" },
    { what: "plain http", more: "baseUrl=http://api.sandbox.example", says: "allowPlaintext" },
    {
      what: "a secret that no volume can have",
      more: "sites.S1000000003.credentials[0].dir=/run/secrets/elsewhere",
      says: "create it, or correct the path",
    },
    { what: "an empty Secret", more: "operations[0]=create_order", edit: () => "", says: "is empty" },
  ])("fails the release for $what, and says so", ({ more, edit, says }) => {
    const objects = charts.objects("countersign", [...sidecar, ...set(`config.environments.sandbox.${more}`)]);
    const { exitCode, stderr } = runCheck(objects, edit);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(says);
  });

  test.each([
    { what: "before the release", args: plain, hooks: "pre-install,pre-upgrade" },
    { what: "after the release, if the release makes Secrets", args: gateway, hooks: "post-install,post-upgrade" },
    { what: "when asked", args: [...plain, ...set("check.hooks=pre-upgrade")], hooks: "pre-upgrade" },
  ])("runs $what, and a failed pod is kept to be read", ({ args, hooks }) => {
    const ofHook = charts.objects("countersign", args).filter((object) => isOfHook(object, hooks));
    expect(ofHook.map(({ kind, metadata }) => [kind, metadata.annotations["helm.sh/hook-weight"]])).toEqual([
      ["ConfigMap", "-1"],
      ["Job", "0"],
    ]);
    for (const { metadata } of ofHook) {
      expect(metadata.annotations["helm.sh/hook-delete-policy"]).toBe("before-hook-creation,hook-succeeded");
    }
  });

  test("can be left out", () => {
    const objects = charts.objects("countersign", [...plain, ...set("check.enabled=false")]);
    expect(objects.filter((object) => isOfHook(object)).map(({ kind }) => kind)).toEqual(["Pod"]);
  });

  test("mounts no volume of an application, since the check's pod does not have it", () => {
    const more = [
      { name: "sockets", mountPath: "/run/countersign" },
      { name: "authorities", mountPath: "/etc/authorities" },
    ];
    const objects = charts.objects("example-app", [
      ...setJson("countersign.extraVolumeMounts", more),
      ...setJson("countersign.extraVolumes", [{ name: "authorities", configMap: { name: "authorities" } }]),
    ]);
    const mountsOf = (pod: Manifest) => sidecarOf(pod).volumeMounts.map(({ name }: Manifest) => name);
    const pod = podOf(objects, "Job");
    expect(mountsOf(pod)).toEqual(pod.spec.volumes.map(({ name }: Manifest) => name));
    expect(mountsOf(pod)).toContain("authorities");
    const application = podOf(objects);
    expect(mountsOf(application)).toEqual(expect.arrayContaining(["sockets", "authorities"]));
  });
});

test.each(["Pod", "Service"])("no Service, workload, policy or %sMonitor selects the pods of hooks", (kind) => {
  const monitor = set(`podMonitor.enabled=${kind === "Pod"},serviceMonitor.enabled=${kind === "Service"}`);
  const objects = charts.objects("countersign", [...gateway, ...monitor]);
  const pods = objects.filter((object) => isOfHook(object)).flatMap((object) => podTemplateOf(object) ?? []);
  expect(pods).toHaveLength(2);
  const selectors = objects.flatMap(({ kind, spec }) => {
    const selector = kind === "Service" ? { matchLabels: spec.selector } : (spec?.selector ?? spec?.podSelector);
    return selector?.matchLabels === undefined ? [] : [{ kind, labels: selector.matchLabels }];
  });
  expect(new Set(selectors.map(({ kind }) => kind))).toEqual(
    new Set(["Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy", `${kind}Monitor`]),
  );
  for (const { metadata } of pods) {
    for (const { kind, labels } of selectors) expect(metadata.labels, kind).not.toMatchObject(labels);
  }
});

describe("pods of hooks", () => {
  /** The check's pod and the pod of `helm test`. */
  const podsOf = (settings: readonly string[]) => {
    const hooks = charts.objects("countersign", [...plain, ...settings]).filter((object) => isOfHook(object));
    return ["Job", "Pod"].map((kind) => podOf(hooks, kind));
  };

  test("have the labels and annotations of the values, and keep their own", () => {
    const name = "app.kubernetes.io/name";
    const settings = {
      commonLabels: { team: "payments", tier: "common" },
      "check.podLabels": { tier: "check", "sidecar.istio.io/inject": "true", [name]: "countersign" },
      "check.podAnnotations": { "vault.hashicorp.com/agent-inject": "true" },
    };
    const args = Object.entries(settings).flatMap(([key, value]) => setJson(key, value));
    const [check, ofTest] = podsOf(args);
    for (const { metadata } of [check, ofTest]) {
      expect(metadata.labels).toMatchObject({ team: "payments", tier: "check", "sidecar.istio.io/inject": "true" });
      expect(metadata.annotations).toMatchObject(settings["check.podAnnotations"]);
    }
    expect(check.metadata.labels[name]).toBe("countersign-check");
    expect(ofTest.metadata.labels[name]).toBe("countersign-test");
    expect(ofTest.metadata.annotations).toMatchObject({ "helm.sh/hook": "test" });
    const job = ofKind(charts.objects("countersign", [...plain, ...args]), "Job");
    expect(job.metadata.labels).toMatchObject({ team: "payments", tier: "common" });
  });

  test("can be without the labels and annotations of the defaults", () => {
    const [check] = podsOf([...setJson("check.podLabels", null), ...setJson("check.podAnnotations", null)]);
    expect(check.metadata.labels).not.toHaveProperty(["sidecar.istio.io/inject"]);
    expect(check.metadata).not.toHaveProperty("annotations");
  });

  test.each([
    { what: "none by default", settings: "create=false", has: undefined },
    { what: "one that exists", settings: "create=false,gateway.serviceAccount.name=puller", has: "puller" },
    { what: "none of the release's own", settings: "create=true,gateway.serviceAccount.name=new", has: undefined },
  ])("have a service account: $what", ({ settings, has }) => {
    const pods = podsOf(set(`gateway.serviceAccount.${settings}`));
    expect(pods.map(({ spec }) => spec.serviceAccountName)).toEqual([has, has]);
  });
});

test("helm test fails if nothing is ready, with the message of the image's program", async () => {
  const { args } = sidecarOf(charts.objects("countersign", plain).find((object) => isOfHook(object, "test")));
  const { adminUrl, program } = await startPod();
  const health = () => {
    const given = args.map((arg: string) => (arg.includes(":7412") ? new URL(adminUrl).host : arg));
    return run(process.execPath, ["dist/main.js", ...given]);
  };
  expect(health()).toMatchObject({ exitCode: 0, stderr: "" });
  await program.stop();
  expect(health()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("ECONNREFUSED") });
});

function configurationsOf(objects: readonly Manifest[]) {
  const maps = objects.filter(({ kind, data }) => kind === "ConfigMap" && data["countersign.yaml"] !== undefined);
  return Object.fromEntries(maps.map((map) => [isOfHook(map) ? "checked" : "installed", map.data["countersign.yaml"]]));
}

/** Runs the check as its pod would: its arguments, its ConfigMap and its Secrets, in a folder instead of a container. */
function runCheck(objects: readonly Manifest[], edit = (text: string) => text) {
  const folder = emptyFolder();
  const pod = podOf(objects, "Job");
  const volumeOf = new Map(pod.spec.volumes.map((volume: Manifest) => [volume.name, volume]));
  const { args, volumeMounts, env = [] } = sidecarOf(pod);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text, { mode: 0o440 });
  };
  const moved = (text: string) => text.replaceAll(mounted, join(folder, mounted));
  for (const { name, mountPath } of volumeMounts) {
    const volume = volumeOf.get(name) as Manifest;
    if (volume.configMap === undefined) continue;
    const map = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === volume.configMap.name);
    for (const [file, text] of Object.entries<string>(map.data)) write(join(mountPath, file), moved(text));
  }
  const folders = volumeMounts.map(({ mountPath }: Manifest) => `${mountPath}/`);
  for (const { path, content } of secretsOf(configurationsOf(objects)["checked"])) {
    if (folders.some((each: string) => path.startsWith(each))) write(path, edit(content));
  }
  const settings = env.map(({ name }: Manifest) => `${name}=a-secret-from-a-variable`);
  const given = args.map((arg: string) => (arg.startsWith("/") ? join(folder, arg) : arg));
  return run("env", [...settings, process.execPath, "dist/main.js", ...given]);
}
