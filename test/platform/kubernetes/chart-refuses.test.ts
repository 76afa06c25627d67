import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { openCharts, set, setJson, values } from "./charts.ts";
import { complaintsOf } from "./judges.ts";
import { type Manifest, podOf, podTemplateOf, sidecarOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

// If a decision of the user is missing, the chart fails with a sentence that says which value to set. A gateway that could not
// run, or that too many clients could reach, is refused before it is installed.

const test = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();
const gateway = [...values.gateway, ...set("rules.enabled=false,dashboards.enabled=false")];
const { sidecar, plain, everything } = values;

const policy = (more: object) => setJson("gateway.networkPolicy", { enabled: true, ...more });
const budget = (most: string) =>
  set(`gateway.podDisruptionBudget.enabled=true,gateway.podDisruptionBudget.maxUnavailable=${most}`);
const scaled = (more: string) => set(`gateway.autoscaling.enabled=true,${more}`);
const bound = (bind: string, environment: string) =>
  set(`config.listeners[0].bind=${bind},config.listeners[0].environment=${environment}`);
const alert = (exception: string) => set(`rules.alerts.${exception}`);

const blue = "config.environments.sandbox.sites.S1000000001.credentials[0]";
const credential = (more: object) => setJson(blue, { name: "blue", clientId: "client", audience: "api", ...more });
const mount = (name: string, mountPath: string) => setJson("extraVolumeMounts", [{ name, mountPath }]);

const sameFolder = setJson("secrets", [
  { folder: "a", secretName: "a" },
  { folder: "a", secretName: "b" },
]);

/** Rows with these common arguments before their own. */
const behind = (common: readonly string[], rows: readonly Row[]) =>
  rows.map(([why, args, says]): Row => [why, [...common, ...args], says]);

describe("rendering fails", () => {
  test.each<Row>([
    ["without environments", set("config.tokens.cache=memory"), "set config.environments: for each"],
    ...behind(sidecar, [
      ["without tokens.cache", setJson("config.tokens", {}), "set config.tokens.cache: redis"],
      ["for a key that the configuration does not have", set("config.timeout=1s"), "'timeout' not allowed"],
      [
        "for an address that the chart itself sets",
        set("config.admin.bind=:1"),
        "leave admin out of config: the chart",
      ],
      ["for the other one", set("config.status.bind=:1"), "leave status out of config: the chart sets it"],
      ["for a duration without its unit", setJson("config.timeouts", { request: 30 }), "timeouts.request a unit: 30s"],
      [
        "for a secret in the values",
        credential({ clientSecret: "hunter2" }),
        `${blue}.clientSecret: put it into a Secret`,
      ],
      ["for a secret that is in no place", credential({ clientSecret: { path: "x" } }), "missing property 'file'"],
      [
        "for a folder that is not in secrets",
        set("secrets[0].folder=bleu"),
        `blue to secrets, or correct ${blue}.dir: no`,
      ],
      [
        "for the folder of all secrets",
        credential({ clientId: undefined, audience: undefined, dir: "/run/secrets/countersign" }),
        `add a folder NAME to secrets, or correct ${blue}.dir`,
      ],
      ["for a configuration without its secrets", setJson("secrets", []), "add a folder other to secrets, or correct"],
      ["for a value that the chart does not have", set("sidecars=1"), "'sidecars' not allowed"],
      ["for a secret from nowhere", set("secrets[0].secretName=null"), "secrets/0"],
      ["for a secret from two places", set("secrets[0].injected=true"), "blue of secrets one of secretName, "],
      ["for a secret from no place", setJson("secrets[0]", { folder: "blue" }), "and injected; it has none"],
      [
        "for a volume with a name of the chart's",
        setJson("extraVolumes", [{ name: "countersign-config", emptyDir: {} }]),
        "rename countersign-config of extraVolumes: the pod has a volume of this name",
      ],
      ["for two secrets in one folder", sameFolder, "give each of secrets a folder of its own; they are a, a"],
      [
        "with a gateway's listeners",
        setJson("gateway.listeners", [{ environment: "sandbox", port: 8080 }]),
        "set mode: gateway, or",
      ],
      ["for less memory than it asks for", set("resources.limits.memory=64Mi"), "128Mi, above the limit of 64Mi"],
      ["for less CPU than it asks for", set("resources.limits.cpu=0.05"), "it is 100m, above the limit of 0.05"],
      ["for memory that is no quantity", set("resources.limits.memory=lots"), "resources"],
      ["for a resource that has no such field", set("resources.limit.memory=1Gi"), "'limit' not allowed"],
      [
        "for a label of its own",
        set("commonLabels.app\\.kubernetes\\.io/name=foo"),
        "leave app.kubernetes.io/name out",
      ],
      ["for a name that Kubernetes does not take", set("fullnameOverride=Foo_Bar"), "fullnameOverride"],
      ["for root", set("securityContext.runAsUser=0"), "set securityContext.runAsUser to a user other than 0"],
      [
        "for a tag in the image's name",
        set("image.repository=reg:5000/countersign:1.0"),
        "take :1.0 out of image.repository: it belongs into image.tag or image.digest",
      ],
      [
        "for a digest in the image's name",
        set("image.repository=reg:5000/countersign@sha256:0"),
        "take @sha256:0 out of image.repository",
      ],
      ["for a further object that is none", setJson("extraObjects", [{}, "foo"]), "write extraObjects[1] as an object"],
      ["for a monitor of a Service", set("serviceMonitor.enabled=true"), "set podMonitor.enabled instead"],
    ]),
    ...behind(set("injection.enabled=true"), [
      ["to inject before Kubernetes 1.36", ["--kube-version", "1.35"], "v1.35 has no MutatingAdmissionPolicy"],
      ["to inject one configuration", sidecar, "leave config out: with injection each"],
      ["to inject, for a Secret of the release itself", sidecar, "set secretName of green, not externalSecret"],
      ["to inject, as a gateway", gateway, "as a release of its own, without injection"],
      ["to inject, as root", set("securityContext.runAsUser=0"), "set securityContext.runAsUser to a user other"],
      ["to inject, with a monitor of a Service", set("serviceMonitor.enabled=true"), "leave serviceMonitor off"],
      [
        "to inject, with a secret from no place",
        setJson("secrets[0]", { folder: "blue" }),
        "and injected; it has none",
      ],
    ]),
    ...behind(gateway, [
      ["as a gateway without listeners", set("gateway.listeners=null"), "set gateway.listeners: for each"],
      ["as a gateway with listeners in its configuration", bound(":1", "sandbox"), "instead of config.listeners"],
      ["with two environments, and no word on their listeners", set("mode=sidecar"), "(production, sandbox)"],
    ]),
    ...behind(everything, [
      ["for an alert that does not exist", alert("CountersignRedis.enabled=false"), "CountersignRedis,"],
      ["for a key that alerts do not have", alert("CountersignRedisDown.expr=1"), "expr"],
      ["for a severity that no alert has", set("rules.severity.pages=critical"), "one of 'page', 'ticket'"],
      ["for an alert with a malformed time", alert("CountersignRedisDown.for=soon"), "for"],
    ]),
    ...behind(plain, [
      ["for tokens in a Redis that is not named", set("config.tokens.cache=redis"), "set config.redis, which holds"],
      ["without callers", listeners({ callers: undefined }), "set callers of gateway.listeners for sandbox"],
      ["for a listener of no environment", listeners({}, { port: 8081, environment: "production" }), "add production"],
      [
        "for a sidecar's listener of no environment",
        [...set("mode=sidecar"), ...bound("127.0.0.1:1", "production")],
        "add production, which a listener is for",
      ],
      ["for two listeners on one port", listeners({}, {}, { port: 8081 }), "they are 7412, 7413, 8080, 8080, 8081"],
      ["for a listener on the admin port", listeners({ port: 7412 }), "with those of admin and status they are 7412,"],
      ["for two monitors", set("serviceMonitor.enabled=true,podMonitor.enabled=true"), "podMonitor or serviceMonitor"],
      [
        "for a minimum of pods above the maximum",
        scaled("gateway.autoscaling.minReplicas=11"),
        "no fewer pods than minReplicas, 11",
      ],
      ["for an autoscaler without a CPU request", scaled("resources.requests.cpu=null"), "set resources.requests.cpu"],
      ["for a disruption budget of 0", budget("0"), "to 1 or more: with 0 no node"],
      ["for a disruption budget of 0%", budget("0%"), "to 1 or more: with 0% no node"],
      ...["2", "3", "51%", "100%"].map(
        (most): Row => [
          `for a disruption budget of ${most} where there are two pods`,
          [...budget(most), ...set("gateway.replicas=2")],
          `to fewer than the 2 pods: with ${most} all may be away together`,
        ],
      ),
      [
        "for a budget of all pods",
        [...budget("3"), ...scaled("gateway.autoscaling.minReplicas=3")],
        "fewer than the 3 pods",
      ],
      ["for a disruption budget that is no number", budget("some"), "maxUnavailable"],
      [
        "for a roll-out that may neither add nor end a pod",
        set("gateway.strategy.rollingUpdate.maxSurge=0%"),
        "set gateway.strategy.rollingUpdate.maxSurge or maxUnavailable to 1 or more: with 0 for both no pod",
      ],
      [
        "for a policy on callbacks without callbacks",
        policy({ callbacks: [{ podSelector: {} }] }),
        "set config.callbacks, or leave gateway.networkPolicy.callbacks out",
      ],
      ["for a mount of no volume", mount("cache", "/cache"), "add the volume cache, which extraVolumeMounts names, to"],
      ["for an unknown way to spread", set("gateway.spread.zones=always"), "gateway/spread/zones"],
      [
        "for a scaling policy without a period",
        set("gateway.autoscaling.behavior.scaleUp.policies[0].type=Pods"),
        "scaleUp/policies",
      ],
      ["for a policy with all callers", policy({ callers: null }), "name peers in gateway.networkPolicy.callers"],
      ["for a policy with all scrapers", policy({ metrics: null }), "name peers in gateway.networkPolicy.callers"],
    ]),
  ])("%s", (_, args, says) => {
    const { exitCode, stdout, stderr } = charts.refusal("countersign", args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(says);
  });

  test("on a cluster without native sidecars", () => {
    expect(charts.refusal("example-app", ["--kube-version", "1.28"]).stderr).toContain("1.28");
  });

  test("with both sentences at once if nothing is set", () => {
    const { stderr } = charts.refusal("countersign");
    expect(stderr).toContain("countersign needs decisions that its chart cannot make:\n  set config.environments");
    expect(stderr).toContain("\n  set config.tokens.cache");
  });
});

test("two secrets in one folder are no fault of extraVolumes", () => {
  expect(charts.refusal("countersign", [...sidecar, ...sameFolder]).stderr).not.toContain("extraVolumes");
});

test("rendering fails for every secret that is in the values itself, and shows none", () => {
  const { stderr } = charts.refusal("countersign", [
    ...plain,
    ...credential({ clientSecret: "hunter2" }),
    ...setJson(blue.replace("credentials", "keys"), { identifier: "K1", secret: "hunter2" }),
    ...setJson("config.environments.sandbox.egress", { proxy: "http://proxy:1", auth: "hunter2" }),
    ...setJson("config.redis", { url: "redis://cache:6379", password: "hunter2", encryptionKeys: ["hunter2"] }),
    ...setJson("config.tracing.otlp", { endpoint: "http://collector:1", headers: { "x-key": "hunter2" } }),
    ...listeners({ callers: { shop: { token: "hunter2" }, office: { token: ["hunter2"] } } }),
  ]);
  expect(stderr.match(/take the secret out of \S+: put it into a Secret/g)).toHaveLength(8);
  expect(stderr).not.toContain("hunter2");
});

test.each([
  {
    why: "a mount of another volume stands for a folder of secrets",
    args: [
      ...setJson(blue, { name: "blue", dir: "/run/secrets/countersign/blue" }),
      ...setJson("extraVolumes", [{ name: "mine", emptyDir: {} }]),
      ...mount("mine", "/run/secrets/countersign"),
    ],
  },
  { why: "a NetworkPolicy that is off has no peers", args: set("gateway.networkPolicy.callers=null") },
  { why: "one pod may be away", args: budget("1") },
  { why: "two of three pods may, which is half, rounded up", args: [...budget("50%"), ...set("gateway.replicas=3")] },
  { why: "half of two pods may", args: [...budget("50%"), ...set("gateway.replicas=2")] },
  { why: "an autoscaler that is off has no pods", args: set("gateway.autoscaling.minReplicas=11") },
])("but $why", ({ args }) => {
  expect(charts.refusal("countersign", [...plain, ...args])).toMatchObject({ exitCode: 0, stderr: "" });
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

  const firstListener = (bind: string) =>
    setJson("countersign.config.listeners", [{ bind, environment: "sandbox", callers: "anyone" }]);

  test("cannot set a variable to the address of a Unix socket", () => {
    const mounts = [{ name: "sockets", mountPath: "/run/countersign" }];
    const { exitCode, stderr } = charts.refusal("example-app", [
      ...firstListener("unix:/run/countersign/s.sock"),
      ...setJson("countersign.extraVolumeMounts", mounts),
    ]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("config.listeners begins with unix:/run/countersign/s.sock, which no URL can name");
  });

  test.each([":7500", "0.0.0.0:7500", "[::]:7500", "127.0.0.1:7500"])("calls %s by loopback", (bind) => {
    const { spec } = podOf(charts.objects("example-app", firstListener(bind)));
    expect(spec.containers[0].env).toEqual([{ name: "COUNTERSIGN_URL", value: "http://127.0.0.1:7500" }]);
  });

  test("calls a listener with mTLS by https", () => {
    const [certFile, keyFile, caFile] = ["/tls/tls.crt", "/tls/tls.key", "/tls/ca.crt"];
    const mtls = { certFile, keyFile, caFile };
    const listener = { bind: ":7500", environment: "sandbox", mtls, callers: { shop: { certificate: "shop" } } };
    const { spec } = podOf(charts.objects("example-app", setJson("countersign.config.listeners", [listener])));
    expect(spec.containers[0].env).toEqual([{ name: "COUNTERSIGN_URL", value: "https://127.0.0.1:7500" }]);
  });

  test("that passes a wrong context is told which context to pass", () => {
    rewrite((text) => text.replaceAll(".Subcharts.countersign", "."));
    expect(charts.refusal("example-app").stderr).toContain("give its templates its own context");
  });

  test("with a classic sidecar has to set config.drain.min", () => {
    rewrite(classic);
    expect(charts.refusal("example-app").stderr).toContain("set config.drain.min to the time");
  });

  test("with a classic sidecar is accepted, and its grace period is the sum of all three times", () => {
    rewrite(classic);
    const objects = charts.objects("example-app", set("countersign.config.drain.min=25s"));
    expect(complaintsOf(objects)).toEqual([]);
    const { spec } = podOf(objects);
    expect(spec.initContainers).toBeUndefined();
    expect(spec.containers.map(({ name }: Manifest) => name)).toEqual(["orders", "countersign"]);
    expect(sidecarOf({ spec }).restartPolicy).toBeUndefined();
    expect(spec.terminationGracePeriodSeconds).toBe(20 + 25 + 20 + 2 + 5);
  });

  test("has pods that are replaced after a change of the configuration only if it asks for that", () => {
    rewrite((text) => text);
    const annotations = (...args: string[]) => podOf(charts.objects("example-app", args)).metadata.annotations;
    const key = "checksum/countersign";
    const changed = set("countersign.config.log.level=debug");
    expect(annotations()).not.toHaveProperty([key]);
    const asked = set("countersign.rollOnChange=true");
    expect(annotations(...asked)[key]).toMatch(/^[0-9a-f]{64}$/);
    expect(annotations(...asked, ...changed)[key]).not.toBe(annotations(...asked)[key]);
  });
});

test("refuses a grace period shorter than Countersign may need", () => {
  const refusal = (seconds: number) =>
    charts.refusal("countersign", [...gateway, ...set(`gateway.terminationGracePeriodSeconds=${seconds}`)]);
  expect(refusal(41).stderr).toContain("set gateway.terminationGracePeriodSeconds to at least 42");
  expect(refusal(42)).toMatchObject({ exitCode: 0, stderr: "" });
});

test("can leave user and groups to the cluster, as OpenShift demands", () => {
  const objects = charts.objects("example-app", set("countersign.securityContext.runAsUser=null"));
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
  const { spec } = podOf(charts.objects("countersign", [...gateway, ...set(`config.timeouts.request=${request}`)]));
  expect(spec.terminationGracePeriodSeconds).toBe(5 + seconds + 2 + 5);
});

function listeners(...changes: readonly object[]) {
  return setJson(
    "gateway.listeners",
    changes.map((change) => ({ environment: "sandbox", port: 8080, callers: "anyone", ...change })),
  );
}

type Row = readonly [why: string, args: readonly string[], says: string];
