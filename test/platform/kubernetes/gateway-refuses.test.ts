import { describe, expect } from "vitest";
import { openCharts } from "./charts.ts";
import { complaintsOfOpenApi, kubernetesVersions } from "./judges.ts";
import { ofKind } from "./manifests.ts";
import { withTools } from "./tools.ts";

// A gateway that could not run, or that more could reach than was meant, is refused before it is installed.

const test = withTools("helm", "kubernetes-validate");
const gateway = ["--values", "test/platform/kubernetes/values/gateway-plain.yaml"];
const charts = openCharts();

const listeners = (...changes: readonly object[]) => {
  const all = changes.map((change) => ({ environment: "sandbox", port: 8080, callers: "anyone", ...change }));
  return ["--set-json", `gateway.listeners=${JSON.stringify(all)}`];
};
const policy = (values: object) => {
  return ["--set-json", `gateway.networkPolicy=${JSON.stringify({ enabled: true, ...values })}`];
};

const set = (...values: readonly string[]) => values.flatMap((value) => ["--set", `gateway.${value}`]);
const budget = (most: string) =>
  set(`podDisruptionBudget.enabled=true,gateway.podDisruptionBudget.maxUnavailable=${most}`);
const elsewhere = "config.listeners[0].bind=127.0.0.1:1,config.listeners[0].environment=production";
const scaled = (values: string) => set(`autoscaling.enabled=true,${values}`);

describe("rendering fails", () => {
  test.each<[why: string, args: readonly string[], says: string]>([
    ["for a listener of no environment", listeners({}, { port: 8081, environment: "production" }), "add production"],
    [
      "for a sidecar's listener of none",
      ["--set", `mode=sidecar,${elsewhere}`],
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
    ...["2", "3", "51%", "100%"].map((most): [string, readonly string[], string] => [
      `for a disruption budget of ${most} where there are two pods`,
      [...budget(most), ...set("replicas=2")],
      `to fewer than the 2 pods: with ${most} all may be away together`,
    ]),
    [
      "for a budget of all pods",
      [...budget("3"), ...scaled("gateway.autoscaling.minReplicas=3")],
      "fewer than the 3 pods",
    ],
    ["for a disruption budget that is no number", budget("some"), "maxUnavailable"],
    ["for a way to spread that there is not", set("spread.zones=always"), "gateway/spread/zones"],
    [
      "for a scaling policy without a period",
      set("autoscaling.behavior.scaleUp.policies[0].type=Pods"),
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
  ])("%s", (_, args, says) => {
    const { exitCode, stdout, stderr } = charts.refusal("countersign", [...gateway, ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(says);
  });
});

test.each([
  { why: "a NetworkPolicy that is off has no peers", args: set("networkPolicy.callers=null") },
  { why: "one pod may be away", args: budget("1") },
  { why: "two of three may, which is what half of them is", args: [...budget("50%"), ...set("replicas=3")] },
  { why: "half of two pods may", args: [...budget("50%"), ...set("replicas=2")] },
  { why: "an autoscaler that is off has no pods", args: set("autoscaling.minReplicas=11") },
])("but $why", ({ args }) => {
  expect(charts.refusal("countersign", [...gateway, ...args])).toMatchObject({ exitCode: 0, stderr: "" });
});

test.each(["[]", "null"])("egress %s is DNS alone, and is accepted", (egress) => {
  const args = ["--set-json", `gateway.networkPolicy={"enabled":true,"egress":${egress}}`];
  const objects = charts.objects("countersign", [...gateway, ...args]);
  for (const version of kubernetesVersions) expect(complaintsOfOpenApi(objects, version)).toEqual([]);
  const { spec } = ofKind(objects, "NetworkPolicy");
  expect(spec.egress).toEqual([{ ports: ["UDP", "TCP"].map((protocol) => ({ port: 53, protocol })) }]);
});
