import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Charts } from "./charts.ts";
import { complaintsOfOpenApi, kubernetesVersions } from "./judges.ts";
import { parse } from "./manifests.ts";
import { withTools } from "./tools.ts";

// A gateway that could not run, or that more could reach than was meant, is refused before it is installed.

const { isThere, named } = withTools("helm", "kubernetes-validate");
const test = it.runIf(isThere);
const gateway = ["--values", "test/platform/kubernetes/values/gateway-plain.yaml"];
let charts: Charts;

beforeAll(() => {
  if (isThere) charts = new Charts();
});
afterAll(() => charts?.remove());

const listeners = (...changes: readonly object[]) => {
  const all = changes.map((change) => ({ environment: "sandbox", port: 8080, callers: "anyone", ...change }));
  return ["--set-json", `gateway.listeners=${JSON.stringify(all)}`];
};
const policy = (values: object) => {
  return ["--set-json", `gateway.networkPolicy=${JSON.stringify({ enabled: true, ...values })}`];
};

const budget = (maxUnavailable: string) => {
  return [
    "--set",
    `gateway.podDisruptionBudget.enabled=true,gateway.podDisruptionBudget.maxUnavailable=${maxUnavailable}`,
  ];
};

describe("rendering fails", () => {
  test.each([
    {
      why: "for a listener of an environment that is not there",
      args: listeners({}, { port: 8081, environment: "production" }),
      says: "add production, which a listener is for, to config.environments (sandbox)",
    },
    {
      why: "for a sidecar's listener of such an environment",
      args: ["--set", "mode=sidecar,config.listeners[0].bind=127.0.0.1:1,config.listeners[0].environment=production"],
      says: "add production, which a listener is for, to config.environments (sandbox)",
    },
    {
      why: "for two listeners on one port",
      args: listeners({}, {}, { port: 8081 }),
      says: "give each of gateway.listeners a port of its own, not 8080, 8080, 8081",
    },
    {
      why: "for an autoscaler that wants more pods than it may have",
      args: ["--set", "gateway.autoscaling.enabled=true,gateway.autoscaling.minReplicas=11"],
      says: "set gateway.autoscaling.maxReplicas to no fewer pods than minReplicas, 11",
    },
    {
      why: "for an autoscaler that would have nothing to measure by",
      args: ["--set", "gateway.autoscaling.enabled=true,resources.requests.cpu=null"],
      says: "set resources.requests.cpu, which gateway.autoscaling.targetCPUUtilizationPercentage is a share of",
    },
    ...["0", "0%"].map((given) => ({
      why: `for a disruption budget of ${given}, which no drain of a node gets past`,
      args: budget(given),
      says: `set gateway.podDisruptionBudget.maxUnavailable to 1 or more: with ${given} no node`,
    })),
    ...["2", "3", "51%", "100%"].map((given) => ({
      why: `for a disruption budget of ${given} where there are two pods`,
      args: [...budget(given), "--set", "gateway.replicas=2"],
      says: `to fewer than the 2 pods: with ${given} all may be away together`,
    })),
    {
      why: "for a disruption budget of as many pods as the autoscaler keeps",
      args: [...budget("3"), "--set", "gateway.autoscaling.enabled=true,gateway.autoscaling.minReplicas=3"],
      says: "to fewer than the 3 pods",
    },
    { why: "for a disruption budget that is no number", args: budget("some"), says: "maxUnavailable" },
    {
      why: "for a way to spread that there is not",
      args: ["--set", "gateway.spread.zones=always"],
      says: "gateway/spread/zones",
    },
    {
      why: "for a scaling policy without a period",
      args: ["--set", "gateway.autoscaling.behavior.scaleUp.policies[0].type=Pods"],
      says: "gateway/autoscaling/behavior/scaleUp/policies",
    },
    {
      why: "for a NetworkPolicy with an empty list of callers, which means all",
      args: policy({ callers: null }),
      says: "name peers in gateway.networkPolicy.callers and .metrics",
    },
    {
      why: "for a NetworkPolicy with an empty list of scrapers, which means all",
      args: policy({ metrics: null }),
      says: "name peers in gateway.networkPolicy.callers and .metrics",
    },
  ])(named("$why"), ({ args, says }) => {
    const { exitCode, stdout, stderr } = charts.refusal("countersign", [...gateway, ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(says);
  });
});

test.each([
  { why: "a NetworkPolicy that is off has no peers", args: ["--set", "gateway.networkPolicy.callers=null"] },
  { why: "one pod may be away", args: budget("1") },
  { why: "two of three may, which is what half of them is", args: [...budget("50%"), "--set", "gateway.replicas=3"] },
  { why: "half of two pods may", args: [...budget("50%"), "--set", "gateway.replicas=2"] },
  { why: "an autoscaler that is off has no pods", args: ["--set", "gateway.autoscaling.minReplicas=11"] },
])(named("but $why"), ({ args }) => {
  expect(charts.refusal("countersign", [...gateway, ...args])).toMatchObject({ exitCode: 0, stderr: "" });
});

test.each(["[]", "null"])(named("egress %s is DNS alone, and is accepted"), (egress) => {
  const args = ["--set-json", `gateway.networkPolicy={"enabled":true,"egress":${egress}}`];
  const objects = parse(charts.render("countersign", [...gateway, ...args]));
  for (const version of kubernetesVersions) expect(complaintsOfOpenApi(objects, version)).toEqual([]);
  const { spec } = objects.find(({ kind }) => kind === "NetworkPolicy");
  expect(spec.egress).toEqual([{ ports: ["UDP", "TCP"].map((protocol) => ({ port: 53, protocol })) }]);
});
