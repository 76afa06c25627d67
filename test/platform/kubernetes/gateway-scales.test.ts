/** The gateway's pods: how many there are, where they run, and how calls reach them. */
import { expect } from "vitest";
import { openCharts, values } from "./charts.ts";
import { complaintsOfOpenApi } from "./judges.ts";
import { type Manifest, podTemplateOf } from "./manifests.ts";
import { withTools } from "./tools.ts";

const test = withTools("helm", "kubernetes-validate");
const charts = openCharts();

/** The objects of one kind, of the example of a gateway with these settings. */
function render(kind: string, ...settings: readonly string[]): Manifest[] {
  const sets = settings.flatMap((setting) => ["--set-json", setting]);
  return charts.objects("countersign", [...values.gateway, ...sets]).filter((each) => each.kind === kind);
}

test.each([
  { autoscaling: false, replicas: 3 },
  { autoscaling: true, replicas: undefined },
])("autoscaling $autoscaling: the Deployment says $replicas replicas", ({ autoscaling, replicas }) => {
  const [{ spec }] = render("Deployment", `gateway.autoscaling.enabled=${autoscaling}`, "gateway.replicas=3");
  expect(spec.replicas).toBe(replicas);
});

test("more pods come at once, and go one by one", () => {
  const [{ spec }] = render("HorizontalPodAutoscaler");
  expect(spec.behavior.scaleUp).toMatchObject({ stabilizationWindowSeconds: 0, selectPolicy: "Max" });
  expect(spec.behavior.scaleDown).toEqual({
    stabilizationWindowSeconds: 300,
    policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
  });
});

test("a value changes one of these figures, and leaves the others", () => {
  const setting = "gateway.autoscaling.behavior.scaleDown.stabilizationWindowSeconds=900";
  const [{ spec }] = render("HorizontalPodAutoscaler", setting);
  expect(spec.behavior.scaleDown).toMatchObject({ stabilizationWindowSeconds: 900, policies: [{ value: 1 }] });
});

test.each([
  { spread: {}, zones: "ScheduleAnyway", nodes: "ScheduleAnyway" },
  { spread: { zones: "required" }, zones: "DoNotSchedule", nodes: "ScheduleAnyway" },
  { spread: { zones: "none", nodes: "required" }, zones: undefined, nodes: "DoNotSchedule" },
  { spread: { zones: "none", nodes: "none" }, zones: undefined, nodes: undefined },
])("spread $spread: over zones $zones, over nodes $nodes", ({ spread, zones, nodes }) => {
  const [deployment] = render("Deployment", `gateway.spread=${JSON.stringify(spread)}`);
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

test("calls can be kept in their zone", () => {
  const services = render("Service", 'gateway.service.spec={"trafficDistribution":"PreferClose"}');
  expect(complaintsOfOpenApi(services, "1.37")).toEqual([]);
  expect(services.map(({ spec }) => spec.trafficDistribution)).toEqual(["PreferClose", undefined]);
});
