import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Charts } from "./charts.ts";
import { complaintsOfOpenApi, complaintsOfPodSecurity, kubernetesVersions } from "./judges.ts";
import { type Manifest, parse, podTemplateOf, sidecarOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

// What the chart cannot decide it asks for, with a sentence that says what to set.

const { isThere, named } = withTools("helm", "pod-security", "kubernetes-validate");
const test = it.runIf(isThere);
const gateway = [
  "--values",
  "helm/countersign/ci/gateway-values.yaml",
  "--set",
  "rules.enabled=false,dashboards.enabled=false",
];
const sidecar = ["--values", "helm/countersign/ci/sidecar-values.yaml"];
let charts: Charts;

beforeAll(() => {
  if (isThere) charts = new Charts();
});
afterAll(() => charts?.remove());

describe("rendering fails", () => {
  test.each([
    {
      why: "without environments",
      args: ["--set", "config.tokens.cache=memory"],
      says: "set config.environments: for each",
    },
    {
      why: "without tokens.cache",
      args: [...sidecar, "--set-json", "config.tokens={}"],
      says: "set config.tokens.cache: redis",
    },
    {
      why: "as a gateway without listeners",
      args: [...gateway, "--set", "gateway.listeners=null"],
      says: "set gateway.listeners: for each environment its port",
    },
    {
      why: "as a gateway without callers",
      args: [...gateway, "--set-json", 'gateway.listeners=[{"environment":"production","port":7411}]'],
      says: "set callers of gateway.listeners for production",
    },
    {
      why: "as a gateway with listeners in its configuration",
      args: [...gateway, "--set", "config.listeners[0].bind=:1,config.listeners[0].environment=sandbox"],
      says: "set gateway.listeners instead of config.listeners",
    },
    {
      why: "with two environments and no word on which is called where",
      args: [...gateway, "--set", "mode=sidecar"],
      says: "set config.listeners: which of the environments (production, sandbox)",
    },
    {
      why: "for a key that the configuration does not have",
      args: [...sidecar, "--set", "config.timeout=1s"],
      says: "'timeout' not allowed",
    },
    {
      why: "for what the chart decides",
      args: [...sidecar, "--set", "config.admin.bind=:1"],
      says: "'admin' not allowed",
    },
    {
      why: "for a value that the chart does not have",
      args: [...sidecar, "--set", "sidecars=1"],
      says: "'sidecars' not allowed",
    },
    { why: "for a secret from nowhere", args: [...sidecar, "--set", "secrets[0].secretName=null"], says: "secrets/0" },
    {
      why: "on a cluster without native sidecars",
      chart: "example-app",
      args: ["--kube-version", "1.28"],
      says: "1.28",
    },
  ])(named("$why"), ({ chart = "countersign", args, says }) => {
    const { exitCode, stdout, stderr } = charts.refusal(chart, args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(says);
    expect(stdout).toBe("");
  });

  test(named("with both sentences at once where nothing is set"), () => {
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

  test(named("cannot have the address of a Unix socket in a variable"), () => {
    const mounts = [{ name: "sockets", mountPath: "/run/countersign" }];
    const { exitCode, stderr } = charts.refusal("example-app", [
      ...firstListener("unix:/run/countersign/s.sock"),
      "--set-json",
      `countersign.extraVolumeMounts=${JSON.stringify(mounts)}`,
    ]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("config.listeners begins with unix:/run/countersign/s.sock, which no URL can name");
  });

  test.each([":7500", "0.0.0.0:7500", "[::]:7500", "127.0.0.1:7500"])(named("calls %s by loopback"), (bind) => {
    const objects = parse(charts.render("example-app", firstListener(bind)));
    const { spec } = podTemplateOf(objects.find(({ kind }) => kind === "Deployment"));
    expect(spec.containers[0].env).toEqual([{ name: "COUNTERSIGN_URL", value: "http://127.0.0.1:7500" }]);
  });

  test(named("that gives its own context is told which to give"), () => {
    rewrite((text) => text.replaceAll(".Subcharts.countersign", "."));
    expect(charts.refusal("example-app").stderr).toContain("give its templates its own context");
  });

  test(named("with a classic sidecar has to say for how long the application still calls"), () => {
    rewrite(classic);
    expect(charts.refusal("example-app").stderr).toContain("set config.drain.minSeconds to the seconds");
  });

  test(named("with a classic sidecar is accepted, and its grace period has all three times"), () => {
    rewrite(classic);
    const objects = parse(charts.render("example-app", ["--set", "countersign.config.drain.minSeconds=25"]));
    for (const version of kubernetesVersions) expect(complaintsOfOpenApi(objects, version)).toEqual([]);
    expect(complaintsOfPodSecurity(objects)).toEqual([]);
    const { spec } = podTemplateOf(objects.find(({ kind }) => kind === "Deployment"));
    expect(spec.initContainers).toBeUndefined();
    expect(spec.containers.map(({ name }: Manifest) => name)).toEqual(["orders", "countersign"]);
    expect(sidecarOf({ spec }).restartPolicy).toBeUndefined();
    expect(spec.terminationGracePeriodSeconds).toBe(20 + 25 + 20 + 2 + 5);
  });

  test(named("has pods that are replaced with a changed configuration only where it asks for that"), () => {
    rewrite((text) => text);
    const annotations = (...args: string[]) => {
      const objects = parse(charts.render("example-app", args));
      return podTemplateOf(objects.find(({ kind }) => kind === "Deployment")).metadata.annotations;
    };
    const key = "checksum/countersign";
    const changed = ["--set", "countersign.config.log.level=debug"];
    expect(annotations()).not.toHaveProperty([key]);
    const asked = ["--set", "countersign.rollOnChange=true"];
    expect(annotations(...asked)[key]).toMatch(/^[0-9a-f]{64}$/);
    expect(annotations(...asked, ...changed)[key]).not.toBe(annotations(...asked)[key]);
  });
});

test.each([
  { request: "500ms", seconds: 1 },
  { request: "1001ms", seconds: 2 },
  { request: "020s", seconds: 20 },
  { request: "2m", seconds: 120 },
])(named("a request of $request takes $seconds s of the grace period"), ({ request, seconds }) => {
  const objects = parse(charts.render("countersign", [...gateway, "--set", `config.timeouts.request=${request}`]));
  const { spec } = podTemplateOf(objects.find(({ kind }) => kind === "Deployment"));
  expect(spec.terminationGracePeriodSeconds).toBe(5 + seconds + 2 + 5);
});
