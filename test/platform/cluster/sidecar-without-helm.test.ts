/** docs/kubernetes.md for an application without a Helm chart: kustomize and the patch, each used by a reader of its own. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { block, commandsBelow } from "../kubernetes/page.ts";
import { firstNote, podsOf, statesOf } from "./pods.ts";
import { Reader } from "./reader.ts";

const [, secrets = ""] = commandsBelow("2. By a label");
const [, patch = "", cronJobPatch = ""] = commandsBelow("3. By your chart, or a patch");
const orders = readFileSync("test/platform/cluster/orders.yaml", "utf8");
const rollout = "kubectl rollout status --timeout=180s";

const served = { status: 200, outcome: "answered" };

const kustomized = openReader("kustomized");
const [rolledOut = "", doctor = "", forward = ""] = commandsBelow("4. See that it works").join("").split("\n");

beforeAll(() => {
  // The page sets the Deployment's variable; the other workloads have theirs, and the label, in orders.yaml.
  kustomized.write({
    "orders/orders.yaml": orders,
    "orders/kustomization.yaml": block("orders/kustomization"),
    "kustomization.yaml": block("kustomization"),
  });
  kustomized.type("kubectl apply --kustomize .");
});

it("kustomize adds the sidecar to each kind of workload, before all other containers of the pod", async () => {
  kustomized.type(`${rollout} deployment/orders`, `${rollout} statefulset/ledger`, `${rollout} daemonset/tills`);
  for (const name of ["orders", "ledger", "tills"])
    expect(await firstCalls(kustomized, `app=${name}`, name)).toEqual([{ when: "start", ...served }]);
  expect(await firstCalls(kustomized, "app=ledger", "migrate")).toEqual([{ when: "once", ...served }]);
});

it("kustomize lets the pods of Jobs end", async () => {
  await expectEnd(kustomized, "import");
  expect(await firstCalls(kustomized, "job-name=import", "import")).toEqual([{ when: "once", ...served }]);
});

it("rollout status, doctor and the status page show that it works", async () => {
  kustomized.type(rolledOut, doctor);
  const [command = "", ...args] = forward.replace(/#.*/, "").trim().split(/ +/);
  const forwarding = startProgram(command, args, plainEnvironment(kustomized.env as Record<string, string>));
  await forwarding.line((line) => line.startsWith("Forwarding from 127.0.0.1:7413"));
  const answer = await fetch("http://localhost:7413/");
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("S1000000001")]);
});

it("the cluster accepts the Operator's objects and the dashboards", () => {
  kustomized.type(...commandsBelow("5. Dashboards and alerts"));
  const [monitor, rule] = kustomized.get("podmonitor/countersign prometheusrule/countersign").items;
  expect([monitor.kind, rule.kind]).toEqual(["PodMonitor", "PrometheusRule"]);
  kustomized.type("kubectl get configmap countersign-dashboards");
});

it("the patches add the sidecar to a running Deployment and to a CronJob", async () => {
  const reader = openReader("patched");
  const objects = orders.split("---\n");
  reader.write({ "running.yaml": [objects.at(0), objects.at(-1)].join("---\n") });
  reader.type("kubectl create --filename running.yaml");
  reader.type(patch, `${rollout} deployment/orders`, cronJobPatch);
  const [pod] = podsOf(reader, "app=orders");
  expect(await firstNote(reader, pod, "orders")).toEqual({ when: "start", ...served });
  reader.type("kubectl create job settle --from cronjob/settle");
  await expectEnd(reader, "settle");
  expect(await firstCalls(reader, "job-name=settle", "settle")).toEqual([{ when: "once", ...served }]);
});

function openReader(namespace: string): Reader {
  const reader = new Reader(namespace);
  reader.write({ "countersign.yaml": block("countersign"), "orders.yaml": orders });
  reader.type(secrets);
  return reader;
}

/** The first call of each of the workload's pods. */
function firstCalls(reader: Reader, selector: string, container: string) {
  return Promise.all(podsOf(reader, selector).map((pod) => firstNote(reader, pod, container)));
}

/** Expects that the only pod of a Job has ended, its application first and then its sidecar. */
async function expectEnd(reader: Reader, job: string): Promise<void> {
  reader.type(`kubectl wait --for=condition=Complete job/${job} --timeout=120s`);
  const [pod] = podsOf(reader, `job-name=${job}`);
  expect(statesOf(pod)["countersign"].state.terminated.exitCode).toBe(0);
}
