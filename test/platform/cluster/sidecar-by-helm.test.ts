/** docs/kubernetes.md for an application with a Helm chart, typed by its reader, and what the page says of the result. */
import { beforeAll, expect, it } from "vitest";
import { block, commandsBelow } from "../kubernetes/page.ts";
import { eventsOf, firstNote, follow, notesOf, podsOf, processOf, statesOf } from "./pods.ts";
import { Reader } from "./reader.ts";

const reader = new Reader("shop");
const install = "helm upgrade --install shop helm/example-app --values values.yaml --set image=REGISTRY/orders:1";
const shop = "app.kubernetes.io/name=example-app";

beforeAll(() => {
  reader.type(...commandsBelow("2. The secrets"));
  reader.write({ "values.yaml": block("values") });
  reader.type(
    "helm dependency update helm/example-app",
    install,
    "kubectl rollout status deployment/shop --timeout=180s",
  );
});

it("holds all pods to the level `restricted`", () => {
  const { exitCode, output } = reader.try("kubectl run plain --image REGISTRY/orders:1");
  expect(exitCode).not.toBe(0);
  expect(output).toContain('violates PodSecurity "restricted:latest"');
});

it("listens before the application starts: no first call is lost", async () => {
  const pods = podsOf(reader, shop);
  expect(pods).toHaveLength(2);
  for (const pod of pods) {
    const { countersign, orders } = statesOf(pod);
    expect(countersign.state.running.startedAt <= orders.state.running.startedAt).toBe(true);
    expect(await firstNote(reader, pod, "orders")).toEqual({ when: "start", status: 200, outcome: "answered" });
  }
});

// On a slow machine a pod's Redis may be late at its start; it fetches a token of its own then.
it("gives a later pod the token that Redis has", { retry: 2 }, () => {
  const rollout = "kubectl rollout status deployment/shop --timeout=180s";
  reader.type("kubectl scale deployment/shop --replicas=3", rollout);
  const newest = podsOf(reader, shop).at(-1).metadata.name;
  const requested = eventsOf(reader, newest, "token_requested");
  reader.type("kubectl scale deployment/shop --replicas=2", rollout);
  expect(requested).toEqual([]);
});

it("lets the pods of a CronJob end", () => {
  reader.type(
    "kubectl create job settle --from cronjob/shop-settle",
    "kubectl wait --for=condition=Complete job/settle --timeout=120s",
  );
  const [pod] = podsOf(reader, "job-name=settle");
  const { countersign, settle } = statesOf(pod);
  expect([settle.state.terminated.exitCode, countersign.state.terminated.exitCode]).toEqual([0, 0]);
  expect(countersign.state.terminated.finishedAt >= settle.state.terminated.finishedAt).toBe(true);
});

it("ends after the application: its last call is served", async () => {
  const [{ metadata }] = podsOf(reader, shop);
  const [orders, countersign] = ["orders", "countersign"].map((name) => follow(reader, metadata.name, name));
  reader.type(`kubectl delete pod ${metadata.name} --wait=false`);
  await Promise.all([orders?.ended, countersign?.ended]);
  const notes = notesOf(orders?.stdout() ?? "");
  expect(notes.at(-1)).toEqual({ when: "end", status: 200, outcome: "answered" });
  expect(notes.filter(({ status }) => status !== 200)).toEqual([]);
  expect(countersign?.stdout().trimEnd().split("\n").at(-1)).toContain('"event":"stopped"');
  reader.type("kubectl rollout status deployment/shop --timeout=180s");
});

it("takes up a changed Secret while it runs, and restarts nothing", async () => {
  const before = podsOf(reader, shop);
  const logs = before.map(({ metadata }) => follow(reader, metadata.name, "countersign"));
  const green = { "client-id": "client-green", "client-secret": "example-client-secret-green" };
  reader.type(`kubectl patch secret countersign-blue --patch '${JSON.stringify({ stringData: green })}'`);
  await Promise.all(logs.map((log) => log.line((line) => line.includes('"event":"config_applied"'))));
  const after = podsOf(reader, shop);
  expect(after.map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
  expect(after.map((pod) => statesOf(pod)["countersign"].restartCount)).toEqual([0, 0]);
  for (const { metadata } of after) {
    reader.type(`kubectl exec ${metadata.name} --container countersign -- countersign doctor`);
    const notes = notesOf(reader.type(`kubectl logs ${metadata.name} --container orders`));
    expect(notes.filter(({ status }) => status !== 200)).toEqual([]);
  }
});

it("is started again, alone, when the kernel ends it", () => {
  const [pod] = podsOf(reader, shop);
  const { name } = pod.metadata;
  process.kill(processOf(pod), "SIGKILL");
  reader.type(
    `kubectl wait --for=jsonpath='{.status.initContainerStatuses[0].restartCount}'=1 pod/${name} --timeout=60s`,
    `kubectl wait --for=jsonpath='{.status.initContainerStatuses[0].started}'=true pod/${name} --timeout=60s`,
    `kubectl exec ${name} --container countersign -- countersign doctor`,
  );
  const [after] = podsOf(reader, shop);
  expect([after.metadata.uid, statesOf(after)["orders"].restartCount]).toEqual([pod.metadata.uid, 0]);
});

it("refuses a wrong configuration with the release, and no pod gets it", () => {
  const before = podsOf(reader, shop).map(({ metadata }) => metadata.uid);
  const absent =
    "countersign.config.environments.sandbox.sites.S1000000001.credentials[0].dir=/run/secrets/countersign/absent";
  const { exitCode, output } = reader.try(`${install} --set ${absent}`);
  expect(exitCode).not.toBe(0);
  expect(output).toContain("/run/secrets/countersign/absent");
  expect(podsOf(reader, shop).map(({ metadata }) => metadata.uid)).toEqual(before);
  reader.type(install);
});

it("gives the Operator and Grafana what they select", () => {
  reader.type(
    "kubectl get podmonitor,prometheusrule shop-countersign",
    "kubectl get configmap --selector grafana_dashboard=1",
  );
});

it("leaves nothing behind when it is uninstalled", () => {
  reader.type("helm uninstall shop --wait", "kubectl wait --for=delete pods --all --timeout=120s");
  const kinds = "all,configmap,secret,networkpolicy,podmonitor,prometheusrule,serviceaccount";
  expect(reader.get(`${kinds} --selector app.kubernetes.io/instance=shop`).items).toEqual([]);
});
