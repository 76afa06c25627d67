import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { openCharts } from "./charts.ts";
import { complaintsOfOpenApi, complaintsOfPodSecurity, kubernetesVersions } from "./judges.ts";
import { type Manifest, podOf, podTemplateOf, sidecarOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

// What the chart cannot decide it asks for, with a sentence that says what to set.

const test = withTools("helm", "pod-security", "kubernetes-validate");
const set = (...values: readonly string[]) => values.flatMap((value) => ["--set", value]);
const gateway = [
  "--values",
  "helm/countersign/ci/gateway-values.yaml",
  ...set("rules.enabled=false,dashboards.enabled=false"),
];
const sidecar = ["--values", "helm/countersign/ci/sidecar-values.yaml"];
const noCallers = ["--set-json", 'gateway.listeners=[{"environment":"production","port":7411}]'];
const own = set("config.listeners[0].bind=:1,config.listeners[0].environment=sandbox");
const charts = openCharts();

describe("rendering fails", () => {
  test.each<[why: string, args: readonly string[], says: string]>([
    ["without environments", set("config.tokens.cache=memory"), "set config.environments: for each"],
    ["without tokens.cache", [...sidecar, "--set-json", "config.tokens={}"], "set config.tokens.cache: redis"],
    [
      "as a gateway without listeners",
      [...gateway, ...set("gateway.listeners=null")],
      "set gateway.listeners: for each",
    ],
    ["as a gateway without callers", [...gateway, ...noCallers], "set callers of gateway.listeners for production"],
    ["as a gateway with listeners in its configuration", [...gateway, ...own], "instead of config.listeners"],
    [
      "with two environments, and no word on which is called where",
      [...gateway, ...set("mode=sidecar")],
      "(production, sandbox)",
    ],
    [
      "for a key that the configuration does not have",
      [...sidecar, ...set("config.timeout=1s")],
      "'timeout' not allowed",
    ],
    ["for what the chart decides", [...sidecar, ...set("config.admin.bind=:1")], "'admin' not allowed"],
    ["for a value that the chart does not have", [...sidecar, ...set("sidecars=1")], "'sidecars' not allowed"],
    ["for a secret from nowhere", [...sidecar, ...set("secrets[0].secretName=null")], "secrets/0"],
  ])("%s", (_, args, says) => {
    const { exitCode, stdout, stderr } = charts.refusal("countersign", args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(says);
  });

  test("on a cluster without native sidecars", () => {
    expect(charts.refusal("example-app", ["--kube-version", "1.28"]).stderr).toContain("1.28");
  });

  test("with both sentences at once where nothing is set", () => {
    const { stderr } = charts.refusal("countersign");
    expect(stderr).toContain("countersign needs decisions that its chart cannot make:\n  set config.environments");
    expect(stderr).toContain("\n  set config.tokens.cache");
  });
});

describe("an application's chart", () => {
  /** The example with a changed pod template. */
  const rewrite = (edit: (text: string) => string) => {
    const file = join(charts.path("example-app"), "templates/deployment.yaml");
    writeFileSync(file, edit(readFileSync("helm/example-app/templates/deployment.yaml", "utf8")));
  };
  const classic = (text: string) => {
    const include = /\n {6}initContainers:\n(.*)/.exec(text)?.[1] ?? "";
    const item = include.replace("initContainer", "container");
    return text.replace(/\n {6}initContainers:\n.*/, "").replace("\n      volumes:", `\n${item}\n      volumes:`);
  };

  const firstListener = (bind: string) => {
    const listeners = [{ bind, environment: "sandbox", callers: "anyone" }];
    return ["--set-json", `countersign.config.listeners=${JSON.stringify(listeners)}`];
  };

  test("cannot have the address of a Unix socket in a variable", () => {
    const mounts = [{ name: "sockets", mountPath: "/run/countersign" }];
    const { exitCode, stderr } = charts.refusal("example-app", [
      ...firstListener("unix:/run/countersign/s.sock"),
      "--set-json",
      `countersign.extraVolumeMounts=${JSON.stringify(mounts)}`,
    ]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("config.listeners begins with unix:/run/countersign/s.sock, which no URL can name");
  });

  test.each([":7500", "0.0.0.0:7500", "[::]:7500", "127.0.0.1:7500"])("calls %s by loopback", (bind) => {
    const { spec } = podOf(charts.objects("example-app", firstListener(bind)));
    expect(spec.containers[0].env).toEqual([{ name: "COUNTERSIGN_URL", value: "http://127.0.0.1:7500" }]);
  });

  test("that gives its own context is told which to give", () => {
    rewrite((text) => text.replaceAll(".Subcharts.countersign", "."));
    expect(charts.refusal("example-app").stderr).toContain("give its templates its own context");
  });

  test("with a classic sidecar has to say for how long the application still calls", () => {
    rewrite(classic);
    expect(charts.refusal("example-app").stderr).toContain("set config.drain.min to the time");
  });

  test("with a classic sidecar is accepted, and its grace period has all three times", () => {
    rewrite(classic);
    const objects = charts.objects("example-app", ["--set", "countersign.config.drain.min=25s"]);
    for (const version of kubernetesVersions) expect(complaintsOfOpenApi(objects, version)).toEqual([]);
    expect(complaintsOfPodSecurity(objects)).toEqual([]);
    const { spec } = podOf(objects);
    expect(spec.initContainers).toBeUndefined();
    expect(spec.containers.map(({ name }: Manifest) => name)).toEqual(["orders", "countersign"]);
    expect(sidecarOf({ spec }).restartPolicy).toBeUndefined();
    expect(spec.terminationGracePeriodSeconds).toBe(20 + 25 + 20 + 2 + 5);
  });

  test("has pods that are replaced with a changed configuration only where it asks for that", () => {
    rewrite((text) => text);
    const annotations = (...args: string[]) => podOf(charts.objects("example-app", args)).metadata.annotations;
    const key = "checksum/countersign";
    const changed = ["--set", "countersign.config.log.level=debug"];
    expect(annotations()).not.toHaveProperty([key]);
    const asked = ["--set", "countersign.rollOnChange=true"];
    expect(annotations(...asked)[key]).toMatch(/^[0-9a-f]{64}$/);
    expect(annotations(...asked, ...changed)[key]).not.toBe(annotations(...asked)[key]);
  });
});

test("refuses a grace period that Countersign may need longer than", () => {
  const refusal = (seconds: number) => {
    return charts.refusal("countersign", [...gateway, "--set", `gateway.terminationGracePeriodSeconds=${seconds}`]);
  };
  expect(refusal(41).stderr).toContain("set gateway.terminationGracePeriodSeconds to at least 42");
  expect(refusal(42)).toMatchObject({ exitCode: 0, stderr: "" });
});

test("leaves user and groups to the cluster where it is told to, as OpenShift wants it", () => {
  const objects = charts.objects("example-app", ["--set", "countersign.securityContext.runAsUser=null"]);
  const pods = objects.flatMap((object) => podTemplateOf(object) ?? []);
  expect(pods).toHaveLength(3);
  for (const pod of pods) {
    expect(JSON.stringify(pod)).not.toMatch(/runAsUser|runAsGroup|fsGroup/);
    expect(sidecarOf(pod).securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
  }
});

test.each([
  { request: "500ms", seconds: 1 },
  { request: "1001ms", seconds: 2 },
  { request: "020s", seconds: 20 },
  { request: "2m", seconds: 120 },
])("a request of $request takes $seconds s of the grace period", ({ request, seconds }) => {
  const { spec } = podOf(charts.objects("countersign", [...gateway, "--set", `config.timeouts.request=${request}`]));
  expect(spec.terminationGracePeriodSeconds).toBe(5 + seconds + 2 + 5);
});
