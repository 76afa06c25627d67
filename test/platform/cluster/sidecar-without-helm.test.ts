/** docs/kubernetes.md for an application without a Helm chart: `inject`, kustomize and the patch, each typed by a reader. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { block, commandsBelow } from "../kubernetes/page.ts";
import { firstNote, podsOf, statesOf } from "./pods.ts";
import { Reader } from "./reader.ts";

const [secrets = "", inject = "", patch = ""] = commandsBelow("3. The sidecar");
const orders = readFileSync("test/platform/cluster/orders.yaml", "utf8");
const rollout = "kubectl rollout status --timeout=180s";

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

const served = { status: 200, outcome: "answered" };

const injected = openReader("injected");
const [rolledOut = "", doctor = "", forward = ""] = commandsBelow("4. See that it works").join("").split("\n");

beforeAll(() => {
  injected.type(inject);
});

it("inject gives each kind of workload its sidecar, before the pod's other containers of any sort", async () => {
  injected.type(`${rollout} deployment/orders`, `${rollout} statefulset/ledger`, `${rollout} daemonset/tills`);
  for (const name of ["orders", "ledger", "tills"])
    expect(await firstCalls(injected, `app=${name}`, name)).toEqual([{ when: "start", ...served }]);
  expect(await firstCalls(injected, "app=ledger", "migrate")).toEqual([{ when: "once", ...served }]);
});

it("inject lets the pods of Jobs and CronJobs end", async () => {
  injected.type("kubectl create job settle --from cronjob/settle");
  for (const name of ["import", "settle"]) {
    injected.type(`kubectl wait --for=condition=Complete job/${name} --timeout=120s`);
    expect(await firstCalls(injected, `job-name=${name}`, name)).toEqual([{ when: "once", ...served }]);
    const [pod] = podsOf(injected, `job-name=${name}`);
    expect(statesOf(pod)["countersign"].state.terminated.exitCode).toBe(0);
  }
});

it("a second run of inject changes nothing", () => {
  const results = injected.type(inject).trim().split("\n");
  expect(results).toHaveLength(5);
  for (const line of results) expect(line).toMatch(/ unchanged$/);
});

it("rollout status, doctor and the status page show that it works", async () => {
  injected.type(rolledOut, doctor);
  const [command = "", ...args] = forward.replace(/#.*/, "").trim().split(/ +/);
  const forwarding = startProgram(command, args, plainEnvironment(injected.env as Record<string, string>));
  await forwarding.line((line) => line.startsWith("Forwarding from 127.0.0.1:7413"));
  const answer = await fetch("http://localhost:7413/");
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("S1000000001")]);
});

it("the Operator's objects and the dashboards are taken", () => {
  injected.type(...commandsBelow("5. Dashboards and alerts"));
  const [monitor, rule] = injected.get("podmonitor/countersign prometheusrule/countersign").items;
  expect([monitor.kind, rule.kind]).toEqual(["PodMonitor", "PrometheusRule"]);
  injected.type("kubectl get configmap countersign-dashboards");
});

it("kustomize gives the labelled Deployment its sidecar", async () => {
  const reader = openReader("kustomized");
  const [deployment = ""] = orders.split("---\n");
  reader.write({
    "orders/orders.yaml": deployment,
    "orders/kustomization.yaml": block("orders/kustomization"),
    "kustomization.yaml": block("kustomization"),
  });
  reader.type("kubectl apply --kustomize .", `${rollout} deployment/orders`);
  expect(await firstCalls(reader, "app=orders", "orders")).toEqual([{ when: "start", ...served }]);
});

it("the patch gives a Deployment that runs its sidecar", async () => {
  const reader = openReader("patched");
  reader.type(
    "kubectl create --filename - <<END",
    orders.split("---\n")[0] ?? "",
    "END",
    "kubectl set env deployment/orders BASE_URL=http://127.0.0.1:7411",
    `${rollout} deployment/orders`,
  );
  reader.type(patch, `${rollout} deployment/orders`);
  const [pod] = podsOf(reader, "app=orders");
  expect(await firstNote(reader, pod, "orders")).toEqual({ when: "start", ...served });
});
