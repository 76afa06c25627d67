import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { openCharts, set, setJson, values } from "./charts.ts";
import { complaintsOf } from "./judges.ts";
import { type Manifest, ofKind, podOf, podTemplateOf, sidecarOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

// What the chart cannot decide it asks for, with a sentence that says what to set. A gateway that could not run, or that more
// could reach than was meant, is refused before it is installed.

const test = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();
const gateway = [...values.gateway, ...set("rules.enabled=false,dashboards.enabled=false")];
const { sidecar, plain, everything } = values;

const listeners = (...changes: readonly object[]) =>
  setJson(
    "gateway.listeners",
    changes.map((change) => ({ environment: "sandbox", port: 8080, callers: "anyone", ...change })),
  );
const policy = (more: object) => setJson("gateway.networkPolicy", { enabled: true, ...more });
const budget = (most: string) =>
  set(`gateway.podDisruptionBudget.enabled=true,gateway.podDisruptionBudget.maxUnavailable=${most}`);
const scaled = (more: string) => set(`gateway.autoscaling.enabled=true,${more}`);
const bound = (bind: string, environment: string) =>
  set(`config.listeners[0].bind=${bind},config.listeners[0].environment=${environment}`);
const alert = (exception: string) => set(`rules.alerts.${exception}`);

type Row = readonly [why: string, args: readonly string[], says: string];

/** Rows whose arguments come behind these. */
const behind = (common: readonly string[], rows: readonly Row[]) =>
  rows.map(([why, args, says]): Row => [why, [...common, ...args], says]);

describe("rendering fails", () => {
  test.each<Row>([
    ["without environments", set("config.tokens.cache=memory"), "set config.environments: for each"],
    ...behind(sidecar, [
      ["without tokens.cache", setJson("config.tokens", {}), "set config.tokens.cache: redis"],
      ["for a key that the configuration does not have", set("config.timeout=1s"), "'timeout' not allowed"],
      ["for what the chart decides", set("config.admin.bind=:1"), "'admin' not allowed"],
      ["for a value that the chart does not have", set("sidecars=1"), "'sidecars' not allowed"],
      ["for a secret from nowhere", set("secrets[0].secretName=null"), "secrets/0"],
    ]),
    ...behind(gateway, [
      ["as a gateway without listeners", set("gateway.listeners=null"), "set gateway.listeners: for each"],
      ["as a gateway with listeners in its configuration", bound(":1", "sandbox"), "instead of config.listeners"],
      ["with two environments, and no word on which is called where", set("mode=sidecar"), "(production, sandbox)"],
    ]),
    ...behind(everything, [
      ["for an alert that there is not", alert("CountersignRedis.enabled=false"), "CountersignRedis,"],
      ["for a key that alerts have not", alert("CountersignRedisDown.expr=1"), "expr"],
      ["for an alert after a time that is none", alert("CountersignRedisDown.for=soon"), "for"],
    ]),
    ...behind(plain, [
      [
        "as a gateway without callers",
        listeners({ callers: undefined }),
        "set callers of gateway.listeners for sandbox",
      ],
      ["for a listener of no environment", listeners({}, { port: 8081, environment: "production" }), "add production"],
      [
        "for a sidecar's listener of none",
        [...set("mode=sidecar"), ...bound("127.0.0.1:1", "production")],
        "add production, which a listener is for",
      ],
      ["for two listeners on one port", listeners({}, {}, { port: 8081 }), "a port of its own, not 8080, 8080, 8081"],
      [
        "for more pods than there may be",
        scaled("gateway.autoscaling.minReplicas=11"),
        "no fewer pods than minReplicas, 11",
      ],
      ["for nothing to measure by", scaled("resources.requests.cpu=null"), "set resources.requests.cpu"],
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
      ["for a way to spread that there is not", set("gateway.spread.zones=always"), "gateway/spread/zones"],
      [
        "for a scaling policy without a period",
        set("gateway.autoscaling.behavior.scaleUp.policies[0].type=Pods"),
        "scaleUp/policies",
      ],
      [
        "for a NetworkPolicy whose callers are all",
        policy({ callers: null }),
        "name peers in gateway.networkPolicy.callers",
      ],
      [
        "for a NetworkPolicy whose scrapers are all",
        policy({ metrics: null }),
        "name peers in gateway.networkPolicy.callers",
      ],
    ]),
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

test.each([
  { why: "a NetworkPolicy that is off has no peers", args: set("gateway.networkPolicy.callers=null") },
  { why: "one pod may be away", args: budget("1") },
  { why: "two of three may, which is what half of them is", args: [...budget("50%"), ...set("gateway.replicas=3")] },
  { why: "half of two pods may", args: [...budget("50%"), ...set("gateway.replicas=2")] },
  { why: "an autoscaler that is off has no pods", args: set("gateway.autoscaling.minReplicas=11") },
])("but $why", ({ args }) => {
  expect(charts.refusal("countersign", [...plain, ...args])).toMatchObject({ exitCode: 0, stderr: "" });
});

test.each([{ egress: [] }, { egress: null }])("a NetworkPolicy with %j is DNS alone, and is accepted", (more) => {
  const objects = charts.objects("countersign", [...plain, ...policy(more)]);
  expect(complaintsOf(objects)).toEqual([]);
  const { spec } = ofKind(objects, "NetworkPolicy");
  expect(spec.egress).toEqual([{ ports: ["UDP", "TCP"].map((protocol) => ({ port: 53, protocol })) }]);
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

  test("cannot have the address of a Unix socket in a variable", () => {
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
    const objects = charts.objects("example-app", set("countersign.config.drain.min=25s"));
    expect(complaintsOf(objects)).toEqual([]);
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
    const changed = set("countersign.config.log.level=debug");
    expect(annotations()).not.toHaveProperty([key]);
    const asked = set("countersign.rollOnChange=true");
    expect(annotations(...asked)[key]).toMatch(/^[0-9a-f]{64}$/);
    expect(annotations(...asked, ...changed)[key]).not.toBe(annotations(...asked)[key]);
  });
});

test("refuses a grace period that Countersign may need longer than", () => {
  const refusal = (seconds: number) =>
    charts.refusal("countersign", [...gateway, ...set(`gateway.terminationGracePeriodSeconds=${seconds}`)]);
  expect(refusal(41).stderr).toContain("set gateway.terminationGracePeriodSeconds to at least 42");
  expect(refusal(42)).toMatchObject({ exitCode: 0, stderr: "" });
});

test("leaves user and groups to the cluster where it is told to, as OpenShift wants it", () => {
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
