import { readdirSync, readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { Document, stringify, visit } from "yaml";
import { parseDurationMs } from "../../../src/model/clock.ts";
import { examples, openCharts, set, setJson, values } from "./charts.ts";
import { check, mounted, secretsOf } from "./fake-secrets.ts";
import { complaintsOf, complaintsOfDefinitions, complaintsOfOpenApi, kubernetesVersions } from "./judges.ts";
import {
  configurationOf,
  isOfHook,
  type Manifest,
  nameOf,
  ofKind,
  parse,
  podOf,
  podTemplateOf,
  sidecarOf,
} from "./manifests.ts";
import { succeed, withTools } from "./tools.ts";

// Every example of the charts, rendered by Helm and checked by the programs that check it in a cluster, and by Countersign.
// Update the snapshots with `npx vitest run test/platform/kubernetes -u`, and read the changes.

const hmac = /new clients must use OAuth/;

/**
 * Each case must pass all checks of a cluster, and cause no warnings of `countersign check` except these. The cases that together use
 * every value but `injection` have their output in snapshots/.
 */
const cases: readonly Case[] = [
  { name: "gateway", chart: "countersign", args: values.gateway, warnings: [/go over the network in plain text/] },
  { name: "sidecar", chart: "countersign", args: values.sidecar },
  { name: "gateway-plain", chart: "countersign", args: values.plain, warnings: [hmac] },
  { name: "gateway-everything", chart: "countersign", args: values.everything, isReviewed: true },
  { name: "sidecar-two-environments", chart: "example-app", args: values.twoEnvironments, isReviewed: true },
  { name: "example-app", chart: "example-app", args: [] },
  ...examples.map((example) => ({ ...example, chart: "countersign", warnings: [/anyone|reach/] }) as const),
];

/** Secrets that come from variables. */
const env = { API_SECRET: "an-api-secret-from-a-variable" } as const;

const test = withTools("helm", "pod-security", "custom-resources", "kubernetes-validate");
const charts = openCharts();

describe.each(cases)("$name", ({ name, chart, args, warnings = [], isReviewed, variants = [] }) => {
  let rendered: readonly Manifest[] | undefined;
  const render = () => {
    rendered ??= charts.objects(chart, args);
    return rendered;
  };

  test("lints without a complaint", () => {
    const options = ["--strict", "--quiet", "--kube-version", "1.36"];
    expect(succeed("helm", ["lint", ...options, charts.path(chart), ...args])).toBe("");
  });

  if (isReviewed) {
    test("is the same as its reviewed snapshot", async () => {
      const text = reviewable(charts.render(chart, args));
      await expect(text).toMatchFileSnapshot(`snapshots/${name}.yaml`);
    });
  }

  test("is accepted by Kubernetes, with Pod Security `restricted`, and by the schemas of its operators", () => {
    expect(complaintsOf([...variants.flat(), ...render()])).toEqual([]);
  });

  test("has a configuration that Countersign accepts", () => {
    const verdict = check(configurationOf(render()), env);
    expect(verdict).toMatchObject({ valid: true });
    const left = verdict.warnings.filter(({ message }: Manifest) => !warnings.some((each) => each.test(message)));
    expect(left).toEqual([]);
  });

  test("mounts, or has injected, every secret that the configuration names, as a whole folder", () => {
    const objects = render();
    const paths = secretsOf(configurationOf(objects)).map(({ path }) => path);
    const mounting = objects.filter((object) => !isOfHook(object, "test"));
    for (const { spec, metadata } of mounting.flatMap((object) => podTemplateOf(object) ?? [])) {
      const { volumeMounts } = sidecarOf({ spec });
      const injected = metadata.annotations?.["vault.hashicorp.com/secret-volume-path"];
      const folders = [...volumeMounts.map(({ mountPath }: Manifest) => mountPath), injected];
      expect(paths.filter((path) => !folders.some((folder: string) => path.startsWith(`${folder}/`)))).toEqual([]);
      expect(folders).toContain("/etc/countersign");
      for (const mount of volumeMounts) expect(Object.keys(mount)).toEqual(expect.not.arrayContaining(["subPath"]));
      const names = spec.volumes.map(({ name }: Manifest) => name);
      // Only the agent that injects Vault's secrets mounts its token.
      const own = names.filter((name: string) => name !== "vault-token");
      expect(volumeMounts.map(({ name }: Manifest) => name)).toEqual(own);
      const modes = spec.volumes.flatMap(({ secret }: Manifest) => secret?.defaultMode ?? []);
      expect(modes).toEqual(modes.map(() => 0o440));
      expect([...new Set([spec.securityContext?.fsGroup, 0])]).toContain(
        sidecarOf({ spec }).securityContext.runAsGroup,
      );
    }
    expect(paths.every((path) => path.startsWith(mounted))).toBe(true);
  });

  test("gives pods the time that Countersign needs to end, plus the application's own", () => {
    const objects = render();
    const { timeouts, drain } = check(configurationOf(objects), env).configuration;
    const needed = ((parseDurationMs(drain.min) ?? 0) + (parseDurationMs(timeouts.request) ?? 0)) / 1_000 + 2;
    const application = chart === "example-app" ? 20 : 0;
    const serving = objects.filter((object) => !isOfHook(object));
    for (const { spec } of serving.flatMap((object) => podTemplateOf(object) ?? [])) {
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(application + needed);
      expect(spec.terminationGracePeriodSeconds).toBeLessThan(application + needed + 10);
    }
  });
});

test("the example's next version changes no field that Kubernetes does not allow to change", () => {
  const [now, next] = ["orders:1.0.0", "orders:2.0.0"].map((image) => {
    const objects = charts.objects("example-app", ["--set", `image=${image}`]);
    const fixed = (kind: string, { template, selector }: Manifest) => (kind === "Job" ? template : selector);
    return objects.map((object) => [nameOf(object), fixed(object.kind, object.spec ?? {})]);
  });
  expect(next).toEqual(now);
});

/** What only monitors other releases. */
const monitoring = set("podMonitor.enabled=true,rules.enabled=true,dashboards.enabled=true");

test.each(["1.25", ...kubernetesVersions])("a release may be nothing but monitoring, on Kubernetes %s", (version) => {
  const objects = charts.objects("countersign", ["--kube-version", version, ...monitoring]);
  expect(objects.map(({ kind }) => kind)).toEqual(["ConfigMap", "PodMonitor", "PrometheusRule"]);
  expect([...complaintsOfOpenApi(objects, version), ...complaintsOfDefinitions(objects)]).toEqual([]);
});

test("a release of the label's policies may monitor the pods too, in the same way", () => {
  const found = [[], set("injection.enabled=true")].map((more) => {
    return ofKind(charts.objects("countersign", [...monitoring, ...more]), "PodMonitor").spec;
  });
  expect(found[0].namespaceSelector).toEqual({ any: true });
  expect(found[1]).toEqual(found[0]);
});

test("installs its alerts and dashboards", () => {
  const objects = charts.objects("countersign", values.gateway);
  const rules = ofKind(objects, "PrometheusRule").spec.groups;
  const base = "https://git.example/countersign/blob/main/";
  const published = (text: string) => text.replaceAll(base, "https://github.com/countersign/countersign/blob/main/");
  const text = published(stringify(rules));
  expect(parse(text)).toEqual([parse(readFileSync("helm/countersign/files/rules.yaml", "utf8"))[0].groups]);
  expect(text).not.toBe(stringify(rules));

  const { data } = objects.find(({ metadata }) => metadata.name.endsWith("-dashboards"));
  const folder = "helm/countersign/files/dashboards";
  expect(Object.keys(data)).toEqual(readdirSync(folder).map((file) => `countersign-${file}`));
  for (const file of readdirSync(folder)) {
    const text = data[`countersign-${file}`];
    expect(published(text)).toBe(readFileSync(`${folder}/${file}`, "utf8").trimEnd());
    expect(published(text)).not.toBe(text);
  }
});

test.each([
  { what: "by default", config: {}, has: false },
  { what: "that waits for a token", config: { readiness: "token" }, has: true },
  { what: "that ends after a refusal", config: { reload: { unreadyAfterRefusal: "60s" } }, has: true },
])("gives a sidecar $what a readiness probe: $has", ({ config, has }) => {
  const settings = Object.entries(config).flatMap(([key, value]) => setJson(`countersign.config.${key}`, value));
  const { readinessProbe } = sidecarOf(podOf(charts.objects("example-app", settings)));
  const probe = { httpGet: { path: "/readyz", port: "cs-admin" }, periodSeconds: 5 };
  expect(readinessProbe).toEqual(has ? probe : undefined);
});

/** The objects of one kind in the example of a gateway, with these settings. */
function gatewaysOwn(kind: string, ...settings: readonly string[]): Manifest[] {
  const sets = settings.flatMap((setting) => ["--set-json", setting]);
  return charts.objects("countersign", [...values.gateway, ...sets]).filter((each) => each.kind === kind);
}

test.each([
  { autoscaling: false, replicas: 3 },
  { autoscaling: true, replicas: undefined },
])("autoscaling $autoscaling: the Deployment says $replicas replicas", ({ autoscaling, replicas }) => {
  const [{ spec }] = gatewaysOwn("Deployment", `gateway.autoscaling.enabled=${autoscaling}`, "gateway.replicas=3");
  expect(spec.replicas).toBe(replicas);
});

test("with the strategy Recreate the Deployment has no rollingUpdate", () => {
  const [{ spec }] = gatewaysOwn("Deployment", 'gateway.strategy.type="Recreate"', "gateway.replicas=3");
  expect(spec.strategy).toEqual({ type: "Recreate" });
});

test.each([
  { spread: {}, zones: "ScheduleAnyway", nodes: "ScheduleAnyway" },
  { spread: { zones: "required" }, zones: "DoNotSchedule", nodes: "ScheduleAnyway" },
  { spread: { zones: "none", nodes: "required" }, zones: undefined, nodes: "DoNotSchedule" },
  { spread: { zones: "none", nodes: "none" }, zones: undefined, nodes: undefined },
])("spread $spread: over zones $zones, over nodes $nodes", ({ spread, zones, nodes }) => {
  const [deployment] = gatewaysOwn("Deployment", `gateway.spread=${JSON.stringify(spread)}`);
  if (zones === "DoNotSchedule") expect(complaintsOfOpenApi([deployment], "1.37")).toEqual([]);
  const { spec, metadata } = podTemplateOf(deployment);
  const found: Manifest[] = spec.topologySpreadConstraints ?? [];
  const of = (key: string) => found.find(({ topologyKey }) => topologyKey === key)?.whenUnsatisfiable;
  expect([of("topology.kubernetes.io/zone"), of("kubernetes.io/hostname")]).toEqual([zones, nodes]);
  expect(found).toHaveLength([zones, nodes].filter((each) => each !== undefined).length);
  for (const { labelSelector, matchLabelKeys, nodeTaintsPolicy } of found) {
    expect(metadata.labels).toMatchObject(labelSelector.matchLabels);
    expect({ matchLabelKeys, nodeTaintsPolicy }).toEqual({
      matchLabelKeys: ["pod-template-hash"],
      nodeTaintsPolicy: "Honor",
    });
  }
});

/** A value that fits into so many characters is on one line; a longer one that is repeated becomes an alias. */
const oneLine = 110;

/** A stream of objects, shortened for a reviewer: without alerts and dashboards, and with parsed configurations. */
function reviewable(stream: string): string {
  const seen = new Map<string, unknown>();
  const shared = (_: string, value: unknown): unknown => {
    const text = JSON.stringify(value);
    if (typeof value !== "object" || text.length <= oneLine) return value;
    if (!seen.has(text)) seen.set(text, value);
    return seen.get(text);
  };
  const objects = parse(stream).map(elide);
  const document = new Document(JSON.parse(JSON.stringify(objects), shared));
  visit(document, {
    Collection: (_, node) => {
      node.flow = JSON.stringify(node).length <= oneLine;
    },
  });
  return document.toString({ lineWidth: 120, indentSeq: false });
}

function elide(object: Manifest): Manifest {
  const { data, spec } = object;
  if (nameOf(object).endsWith("-dashboards")) return { ...object, data: "as in files/" };
  if (spec?.groups !== undefined) return { ...object, spec: { ...spec, groups: "as in files/" } };
  const configuration = data?.["countersign.yaml"];
  if (configuration === undefined) return object;
  return { ...object, data: { ...data, "countersign.yaml": parse(configuration)[0] } };
}

interface Case {
  readonly name: string;
  readonly chart: "countersign" | "example-app";
  readonly args: readonly string[];
  readonly warnings?: readonly RegExp[];
  readonly isReviewed?: true;
  /** Objects for the chart's own, which a cluster with their operators must accept too. */
  readonly variants?: readonly (readonly Manifest[])[];
}
